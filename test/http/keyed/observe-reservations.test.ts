import { describe, expect, test } from '@jest/globals'
import type { Request } from 'express'
import { StoreTimeoutError } from '../../../src/db/connection/deadline.ts'
import { ProblemError } from '../../../src/domain/problems/problem-error.ts'
import type { Answer } from '../../../src/http/responses/answer.ts'
import type { ApiParts } from '../../../src/http/endpoint.ts'
import {
  observeReservations,
  type KeyedEndpoint,
} from '../../../src/http/keyed/observe-reservations.ts'

/** What is told of one request to an endpoint, by result. */
async function told(endpoint: KeyedEndpoint): Promise<string[]> {
  const results: string[] = []
  const observe = {
    reserved: (tenantId: string, result: string) => void results.push(`${tenantId} ${result}`),
  }
  const parts = { observe } as unknown as ApiParts
  await observeReservations(endpoint)(parts, {} as Request, 't').catch(() => {})
  return results
}

const answer: Answer = { status: 201, body: '' }

describe('of a keyed request is told', () => {
  test('that it created an operation, when it is answered', async () => {
    expect(await told(() => Promise.resolve(answer))).toEqual(['t created'])
  })

  test('that it was a replay, by the header of its answer', async () => {
    const replayed = { ...answer, headers: { 'idempotent-replayed': 'true' } }

    expect(await told(() => Promise.resolve(replayed))).toEqual(['t replayed'])
  })

  test.each([
    ['idempotency-key-reused', 'misuse'],
    ['operation-in-progress', 'in_progress'],
    ['outcome-unknown', 'unknown'],
    ['idempotency-key-expired', 'expired'],
    ['store-unavailable', 'store_error'],
  ] as const)('by the problem %s that it is %s', async (type, result) => {
    expect(await told(() => Promise.reject(new ProblemError(type)))).toEqual([`t ${result}`])
  })

  test('that the store did not answer', async () => {
    const late = new StoreTimeoutError('late')

    expect(await told(() => Promise.reject(late))).toEqual(['t store_error'])
  })

  test('one result alone: what the endpoint itself has told', async () => {
    const failing: KeyedEndpoint = async (_parts, _request, _tenantId, tell) => {
      tell('retry')
      return await Promise.reject(new ProblemError('provider-unavailable'))
    }

    expect(await told(failing)).toEqual(['t retry'])
  })

  test('nothing, when it is refused for what it asks', async () => {
    expect(await told(() => Promise.reject(new ProblemError('invalid-field')))).toEqual([])
  })
})
