// Checks the table of routes against the rule that every change needs an Idempotency-Key.
import { describe, expect, test } from '@jest/globals'
import { eventSources } from '../../../src/provider/adapters.ts'
import { read } from '../../support/client.ts'
import { fetchApi } from '../../support/documented.ts'
import { everyRoute } from '../../support/routes.ts'
import { service, tenant } from '../../support/shared-service.ts'
import { expectProblem } from '../payments.ts'

/** A provider event is unique by its id. */
const WITHOUT_KEY: string[] = eventSources.map(({ route }) => route.path)

/** A repeated log-in opens another session, which ends by itself. A repeated log-out changes nothing. */
const SESSION = '/console/session'

/**
 * Operators have no tenant, and idempotency keys belong to tenants. Each operator request is
 * guarded by the state that it changes, so that a repetition changes nothing. The two requests that
 * create a tenant or an API key create another one when they are repeated. It is listed, moves no
 * money and can be revoked.
 */
const KEYLESS_ACCESS = 'admin'

/** Its path names the key that it cancels. */
const CANCEL = '/v1/idempotency-keys/:key/cancel'

const mutating = everyRoute
  .filter(({ method }) => method !== 'GET')
  .map(({ method, path, endpoint }) => [method, path, endpoint.access])

describe('every route that changes something', () => {
  test('is for a tenant or an operator, except those for the providers', () => {
    const open = mutating.filter(([, , access]) => access === 'open' || access === 'console')
    expect(open.map(([, path]) => path)).toEqual([SESSION, ...WITHOUT_KEY])
  })

  const keyed = mutating.filter(
    ([, path = '', access]) =>
      ![...WITHOUT_KEY, SESSION, CANCEL].includes(path) && access !== KEYLESS_ACCESS,
  )

  test('is below /admin if and only if it is for operators', () => {
    const operators = mutating.filter(([, , access]) => access === KEYLESS_ACCESS)
    expect(operators.length).toBeGreaterThan(0)
    expect(operators).toEqual(mutating.filter(([, path]) => path?.startsWith('/admin/')))
  })

  test.each(keyed)(
    '%s %s refuses a request without a key before reading the rest of it',
    async (method, path) => {
      const headers = { authorization: `Bearer ${tenant.apiKey}`, 'content-type': 'text/plain' }
      const request = { method, headers, body: 'invalid' }
      const response = await fetchApi(`${service.apiUrl}${path.replaceAll(':id', 'any')}`, request)

      expect(response.headers.get('link')).toBe(
        '</.well-known/idempotency-policy>; rel="describedby"',
      )
      expectProblem(await read(response), 'idempotency-key-missing')
    },
  )
})
