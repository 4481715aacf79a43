// The registry of routes, held to the key contract: whatever changes something needs an Idempotency-Key.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { routes } from '../../../src/http/server/routes.ts'
import { read } from '../../support/client.ts'
import { fetchApi } from '../../support/documented.ts'
import { startService, type Service, type Tenant } from '../../support/service.ts'
import { expectProblem } from '../payments.ts'

/** The one mutating route without a key: what a provider sends is unique by the id of its event. */
const WITHOUT_KEY = '/provider/webhooks'

/**
 * What operators do belongs to no tenant, and so to no tenant's keys: each of their requests is guarded
 * by the state that it changes, so that a repeat changes nothing. The two that make a tenant, or a key of
 * one, make another one when they are repeated; it is listed, moves no money, and can be revoked.
 */
const KEYLESS_ACCESS = 'admin'

let service: Service
let tenant: Tenant

beforeAll(async () => {
  service = await startService()
  tenant = await service.createTenant()
})
afterAll(() => service.stop())

const mutating = routes.flatMap(({ path, post, delete: remove }) => [
  ...(post === undefined ? [] : [['POST', path, post.access]]),
  ...(remove === undefined ? [] : [['DELETE', path, remove.access]]),
])

describe('every route that changes something', () => {
  test('is for a tenant or an operator, but for the one that providers call', () => {
    const open = mutating.filter(([, , access]) => access === 'open')
    expect(open.map(([, path]) => path)).toEqual([WITHOUT_KEY])
  })

  const keyed = mutating.filter(
    ([, path, access]) => path !== WITHOUT_KEY && access !== KEYLESS_ACCESS,
  )

  test('for an operator is below /admin, and nothing else is', () => {
    const operators = mutating.filter(([, , access]) => access === KEYLESS_ACCESS)
    expect(operators.length).toBeGreaterThan(0)
    expect(operators).toEqual(mutating.filter(([, path]) => path?.startsWith('/admin/')))
  })

  test.each(keyed)(
    '%s %s refuses a request without a key before it reads anything else of it',
    async (method, path) => {
      const headers = { authorization: `Bearer ${tenant.apiKey}`, 'content-type': 'text/plain' }
      const request = { method, headers, body: 'nothing good' }
      const response = await fetchApi(`${service.apiUrl}${path.replaceAll(':id', 'any')}`, request)

      expectProblem(await read(response), 'idempotency-key-missing')
    },
  )
})
