import { expect, test } from '@jest/globals'
import { benchConfig } from '../../../bench/engine.ts'
import { readPlans } from '../../../bench/plans.ts'
import { reservePayment } from '../../../bench/reserve-payment.ts'
import { maintenanceStatements } from '../../../bench/scale/maintenance-statements.ts'
import { paymentStatements } from '../../../bench/scale/statements.ts'
import { seedAll } from '../../../bench/seed.ts'
import { openStore } from '../../../src/db/connection/client.ts'
import { createTenant } from '../../../src/db/tenants/tenants.ts'
import { showId } from '../../../src/domain/resource-id.ts'
import { createTestDatabase } from '../../support/database.ts'

const KEYS = 1_000

test('explains every statement of a payment and of maintenance twice, and keeps nothing that they write', async () => {
  const database = await createTestDatabase()
  // auto_explain is loaded by superusers only.
  const { adminUrl: url } = database
  const store = openStore({
    url,
    applicationName: 'test',
    poolSize: 1,
    timeoutMs: 20_000,
  })
  const settings = benchConfig(url)
  const apiKey = 'sk_test_statements'
  const id = await createTenant(store, { name: 'test', apiKey })
  const { key, paymentId } = await reservePayment(store.sql, id, settings)
  const completed = { key, paymentId: showId('pay', paymentId ?? '') }
  await seedAll(store.sql, { keys: KEYS, tenants: [{ id, apiKey }] }, () => {})
  const countKeys = async () => (await store.sql`select from idempotency_keys`).count
  const keys = await countKeys()
  const statements = [
    ...paymentStatements({ settings, tenant: { id, apiKey }, completed }),
    ...maintenanceStatements(settings),
  ]

  const plans = await readPlans(url, statements)

  for (const { name } of statements) {
    const planned = plans.filter(({ statement }) => statement === name)
    expect([name, ...new Set(planned.map((plan) => plan.planned))]).toEqual([
      name,
      'at first',
      'after many runs',
    ])
  }
  expect(keys).toBeGreaterThan(KEYS)
  expect(await countKeys()).toBe(keys)
  await store.close()
  await database.drop()
})
