// What operators see of the limits of a tenant, and how they change the length of its keys.
import { randomUUID } from 'node:crypto'
import { afterEach, beforeAll, expect, test } from '@jest/globals'
import { changeTenantLimits } from '../../../src/db/tenants/tenants.ts'
import { showTenantId } from '../../../src/domain/tenants/tenant.ts'
import { runOperation } from '../../../src/engine/run-phases.ts'
import { postPayment } from '../../support/client.ts'
import { adminApi } from '../../support/for-file.ts'
import { expectProblem } from '../payments.ts'

const api = adminApi({
  KEY_LENGTH_MIN: '2',
  RATE_LIMIT_READS: '0',
  RATE_LIMIT_WRITES: '600',
  MAX_ACTIVE_KEYS: '50',
  MAX_STORED_KEYS: '5000',
  RATE_LIMIT_WINDOW_SECONDS: '30',
})

let tenant: string

beforeAll(async () => {
  tenant = showTenantId(api.t.tenantId)
})
afterEach(async () => {
  const { sql } = api.t.engine.store
  await changeTenantLimits(sql, api.t.tenantId, {
    RATE_LIMIT_READS: null,
    MAX_ACTIVE_KEYS: null,
    MAX_STORED_KEYS: null,
    KEY_LENGTH_MIN: null,
  })
})

const read = (id: string) => api.get(`/admin/tenants/${id}/limits`)

test('shows the settings and the use of a tenant that has no limits of its own', async () => {
  const { engine, tenantId } = api.t
  await runOperation(engine, await api.t.accept())
  await api.t.accept()

  expect(await read(showTenantId(tenantId))).toMatchObject({
    status: 200,
    json: {
      object: 'tenant_limits',
      tenant: showTenantId(tenantId),
      active_keys: { limit: 50, own: false, used: 1 },
      stored_keys: { limit: 5_000, own: false, used: 2 },
      key_length_min: { limit: 2, own: false },
      writes: { limit: 600, own: false, window_seconds: 30 },
      reads: { limit: null, own: false, window_seconds: 30 },
    },
  })
})

test('shows the limits that a tenant has of its own, and nothing of another tenant', async () => {
  const { engine, tenantId } = api.t
  await api.t.accept()
  const { json } = await api.post('/admin/tenants', { name: 'Other' })
  const own = { RATE_LIMIT_READS: 7, MAX_ACTIVE_KEYS: 0, MAX_STORED_KEYS: 1, KEY_LENGTH_MIN: 36 }
  await changeTenantLimits(engine.store.sql, tenantId, own)

  expect((await read(showTenantId(tenantId))).json).toMatchObject({
    active_keys: { limit: null, own: true },
    stored_keys: { limit: 1, own: true, used: 1 },
    key_length_min: { limit: 36, own: true },
    writes: { limit: 600, own: false },
    reads: { limit: 7, own: true },
  })
  expect((await read(String(json['id']))).json).toMatchObject({
    active_keys: { limit: 50, own: false, used: 0 },
    stored_keys: { limit: 5_000, own: false, used: 0 },
  })
})

const change = (body: unknown) => api.post(`/admin/tenants/${tenant}/limits`, body)

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

test('a tenant can be read by its id', async () => {
  const { json } = await api.get('/admin/tenants')
  const listed = (json['data'] as { id: string }[]).find(({ id }) => id === tenant)

  expect(await api.get(`/admin/tenants/${tenant}`)).toMatchObject({ status: 200, json: listed })
})
