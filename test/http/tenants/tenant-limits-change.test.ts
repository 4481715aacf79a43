// Tests how operators set the least length of a tenant's idempotency keys, with the rights of the service
// role.
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { changeTenantLimits } from '../../../src/db/tenants/tenant-limits.ts'
import { showTenantId } from '../../../src/domain/tenants/tenant.ts'
import { startAdminApi, type AdminApi } from '../../support/admin.ts'
import { postPayment } from '../../support/client.ts'
import { expectProblem } from '../payments.ts'

let api: AdminApi
let tenant: string

beforeAll(async () => {
  api = await startAdminApi({ KEY_LENGTH_MIN: '2' })
  tenant = showTenantId(api.t.tenantId)
})
afterEach(async () => {
  const { sql } = api.t.engine.store
  await changeTenantLimits(sql, api.t.tenantId, { KEY_LENGTH_MIN: null, MAX_ACTIVE_KEYS: null })
  await sql`delete from admin_actions`
})
afterAll(() => api.stop())

const change = (body: unknown, id = tenant) => api.post(`/admin/tenants/${id}/limits`, body)

const pay = (key: string) =>
  postPayment(api.url, { id: api.t.tenantId, apiKey: api.t.apiKey }, undefined, { key })

test('sets it and resets it, for the next request and in the audit trail', async () => {
  const short = randomUUID().slice(0, 8)
  await changeTenantLimits(api.t.engine.store.sql, api.t.tenantId, { MAX_ACTIVE_KEYS: 50 })
  expect((await pay(short)).status).toBe(202)

  expect(await change({ key_length_min: 36 })).toMatchObject({
    status: 200,
    json: {
      object: 'tenant_limits',
      tenant,
      key_length_min: { limit: 36, own: true },
      active_keys: { limit: 50, own: true },
    },
  })

  expectProblem(await pay(randomUUID().slice(0, 35)), 'idempotency-key-too-short')
  expect((await pay(randomUUID())).status).toBe(202)
  expectProblem(await pay(short), 'operation-in-progress')

  expect(await change({ key_length_min: null })).toMatchObject({
    status: 200,
    json: { key_length_min: { limit: 2, own: false }, active_keys: { limit: 50, own: true } },
  })

  expect((await pay(randomUUID().slice(0, 7))).status).toBe(202)
  expect(await api.trailOf(tenant)).toEqual([
    {
      actor: 'alice',
      action: 'tenant.limits',
      details: { result: 'set', KEY_LENGTH_MIN: 36 },
    },
    {
      actor: 'alice',
      action: 'tenant.limits',
      details: { result: 'set', KEY_LENGTH_MIN: null },
    },
  ])
})

test.each([
  ['nothing', {}, 'invalid-field'],
  ['zero', { key_length_min: 0 }, 'invalid-field'],
  ['more than 64', { key_length_min: 65 }, 'invalid-field'],
  ['a part of a character', { key_length_min: 1.5 }, 'invalid-field'],
  ['a text', { key_length_min: '36' }, 'invalid-field'],
  ['another limit', { key_length_min: 36, active_keys: 0 }, 'unknown-field'],
] as const)('refuses %s, changes nothing, and records the refusal', async (_, body, type) => {
  expectProblem(await change(body), type)

  const { json } = await api.get(`/admin/tenants/${tenant}/limits`)
  expect(json).toMatchObject({ key_length_min: { limit: 2, own: false } })
  expect(await api.trailOf(tenant)).toEqual([
    { actor: 'alice', action: 'tenant.limits', details: { refused: type } },
  ])
})

test.each(['tnt_0000000000000000000000000a', 'nonsense'])('answers 404 for %s', async (id) => {
  expectProblem(await change({ key_length_min: 36 }, id), 'resource-not-found')
})

test('a tenant can be read by its id', async () => {
  const { json } = await api.get('/admin/tenants?limit=1')
  const [listed] = json['data'] as { id: string }[]

  expect(await api.get(`/admin/tenants/${tenant}`)).toMatchObject({ status: 200, json: listed })
  expectProblem(
    await api.get('/admin/tenants/tnt_0000000000000000000000000a'),
    'resource-not-found',
  )
})
