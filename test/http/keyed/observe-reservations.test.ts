// The result of each keyed request that the observer receives.
import { describe, expect, test } from '@jest/globals'
import type { Request } from 'express'
import { StoreTimeoutError } from '../../../src/db/connection/store-errors.ts'
import { ProblemError } from '../../../src/domain/problems/problem-error.ts'
import { showId } from '../../../src/domain/resource-id.ts'
import type { ApiParts } from '../../../src/http/endpoint.ts'
import { observeReservations, type KeyedEndpoint } from '../../../src/http/keyed/keyed-answer.ts'

const TENANT = '01890a5d-ac96-774b-bcce-b302099a8057'

/** Serves one request; returns the results that the observer received. */
async function observedResults(endpoint: KeyedEndpoint): Promise<string[]> {
  const results: string[] = []
  const observe = {
    reserved: (tenant: string, result: string) => {
      expect(tenant).toBe(showId('tnt', TENANT))
      results.push(result)
    },
  }
  const parts = { observe } as unknown as ApiParts
  await observeReservations(endpoint)(parts, {} as Request, TENANT).catch(() => {})
  return results
}

describe('the observer of a keyed request receives', () => {
  test.each([
    ['idempotency-key-reused', 'misuse'],
    ['operation-in-progress', 'in_progress'],
    ['outcome-unknown', 'unknown'],
    ['idempotency-key-expired', 'expired'],
    ['store-unavailable', 'store_error'],
  ] as const)('for the problem %s the result %s', async (type, result) => {
    expect(await observedResults(() => Promise.reject(new ProblemError(type)))).toEqual([result])
  })

  test('store_error when the store does not answer', async () => {
    const late = new StoreTimeoutError('late')

    expect(await observedResults(() => Promise.reject(late))).toEqual(['store_error'])
  })

  test('only the result that the endpoint itself reports', async () => {
    const failing: KeyedEndpoint = async (_parts, _request, _tenantId, report) => {
      report('retry')
      return await Promise.reject(new ProblemError('provider-unavailable'))
    }

    expect(await observedResults(failing)).toEqual(['retry'])
  })
})
