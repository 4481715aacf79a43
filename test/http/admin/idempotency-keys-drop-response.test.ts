// A stored response that should not exist can be dropped. Its idempotency key stays used.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { paymentPath } from '../../../src/domain/payments/payment.ts'
import {
  makeCompleted,
  makeFailed,
  makeUnknown,
  shownId,
  startAdminApi,
  type AdminApi,
} from '../../support/admin.ts'
import { paymentBody, post, postPayment } from '../../support/client.ts'
import { expectProblem } from '../payments.ts'
import { runOperation } from '../../../src/engine/run-phases.ts'
import { showId } from '../../../src/domain/resource-id.ts'

let api: AdminApi

beforeAll(async () => {
  api = await startAdminApi({ WEBHOOK_ALLOW_INSECURE: 'true' })
})

afterAll(() => api.stop())

const path = (id: string) => `/admin/idempotency-keys/${id}/response`

const tenant = () => ({ id: api.t.tenantId, apiKey: api.t.apiKey })

async function findKey(key: string): Promise<{ tenantId: string; id: string }> {
  const [row] = await api.t.engine.store.sql<{ tenantId: string; id: string }[]>`
    select tenant_id as "tenantId", id from idempotency_keys where key = ${key}
  `
  if (row === undefined) throw new Error('no such key')
  return row
}

test('a retry gets response-dropped instead of the old response, and executes nothing', async () => {
  const key = 'to-be-dropped'
  const body = paymentBody()
  await postPayment(api.url, tenant(), body, { key })
  const ref = await findKey(key)
  await runOperation(api.t.engine, ref)
  const first = await postPayment(api.url, tenant(), body, { key })
  expect(first.status).toBe(201)
  const executed = (await api.t.provider.executed()).length

  const dropped = await api.remove(path(showId('op', ref.id)))
  const retried = await postPayment(api.url, tenant(), body, { key })
  const again = await api.remove(path(showId('op', ref.id)), 'bob')
  const retriedAgain = await postPayment(api.url, tenant(), body, { key })

  expect(dropped).toMatchObject({ status: 204, text: '' })
  expectProblem(retried, 'response-dropped')
  const location = first.headers.get('location')
  expect(retried.headers.get('location')).toBe(location)
  expect(retried.headers.get('idempotent-replayed')).toBe('true')
  expect(retried.json).toMatchObject({ location, error: { code: 'response_dropped' } })
  expect(again.status).toBe(204)
  expect(retriedAgain.text).toBe(retried.text)
  expect((await api.t.provider.executed()).length).toBe(executed)
  expect(await api.trailOf(showId('op', ref.id))).toEqual([
    { actor: 'alice', action: 'response.drop', details: { result: 'dropped' } },
    { actor: 'bob', action: 'response.drop', details: { result: 'already_dropped' } },
  ])
})

test('the secret of a webhook endpoint is neither replayed any more nor in the audit trail', async () => {
  const key = 'with-a-secret'
  const body = { url: 'http://127.0.0.1:9/hooks' }
  const first = await post(api.url, tenant(), '/v1/webhook-endpoints', body, { key })
  const secret = String(first.json['secret'])
  const ref = await findKey(key)

  await api.remove(path(showId('op', ref.id)))
  const retried = await post(api.url, tenant(), '/v1/webhook-endpoints', body, { key })
  const [secretCounts] = await api.t.engine.store.sql`
    select
      (select count(*)::int from idempotency_keys where to_jsonb(idempotency_keys)::text like ${`%${secret}%`})
        as keys,
      (select count(*)::int from admin_actions where details::text like ${`%${secret}%`}) as actions
  `

  expect(secret).toMatch(/^whsec_/)
  expectProblem(retried, 'response-dropped')
  expect(retried.json['location']).toBe(first.headers.get('location'))
  expect(retried.text).not.toContain(secret)
  expect(secretCounts).toEqual({ keys: 0, actions: 0 })
})

test('the location of a response without one is its payment', async () => {
  const ref = await makeCompleted(api)
  await api.t.engine.store.sql`
    update idempotency_keys set response_headers = response_headers - 'location' where id = ${ref.id}
  `
  await api.remove(path(shownId(ref)))

  expect(await api.t.readKey(ref)).toMatchObject({
    status: 'completed',
    response_status: 410,
    response_headers: { location: paymentPath(ref.paymentId) },
  })
})

test.each([
  ['is pending', (a: AdminApi) => a.t.accept()],
  ['is unknown', makeUnknown],
  ['has failed', makeFailed],
])('no response is dropped of an operation that %s', async (_, make) => {
  const ref = await make(api)
  const before = await api.t.readKey(ref)

  expectProblem(await api.remove(path(shownId(ref))), 'operation-not-completed')
  expect(await api.t.readKey(ref)).toEqual(before)
  expect(await api.trailOf(shownId(ref))).toEqual([
    { actor: 'alice', action: 'response.drop', details: { refused: 'operation-not-completed' } },
  ])
})
