// Tests what operators see of the limits of a tenant, with the rights of the service role.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { changeTenantLimits } from '../../../src/db/tenants/tenant-limits.ts'
import { showTenantId } from '../../../src/domain/tenants/tenant.ts'
import { runOperation } from '../../../src/engine/run-phases.ts'
import { startAdminApi, type AdminApi } from '../../support/admin.ts'
import { fetchApi } from '../../support/documented.ts'
import { expectProblem } from '../payments.ts'

let api: AdminApi

beforeAll(async () => {
  api = await startAdminApi({
    RATE_LIMIT_READS: '0',
    RATE_LIMIT_WRITES: '600',
    MAX_ACTIVE_KEYS: '50',
    MAX_STORED_KEYS: '5000',
    RATE_LIMIT_WINDOW_SECONDS: '30',
  })
})
afterAll(() => api.stop())

const read = (tenant: string) => api.get(`/admin/tenants/${tenant}/limits`)

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
      key_length_min: { limit: 1, own: false },
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

test.each(['tnt_0000000000000000000000000a', 'pay_01h455vb4pex5vsknk084sn02q', 'nonsense'])(
  'answers 404 for %s',
  async (id) => {
    expectProblem(await read(id), 'resource-not-found')
  },
)

test('refuses a client', async () => {
  const path = `${api.url}/admin/tenants/${showTenantId(api.t.tenantId)}/limits`
  const { status } = await fetchApi(path, { headers: { authorization: `Bearer ${api.t.apiKey}` } })
  expect(status).toBe(401)
})
