import { expect, test } from '@jest/globals'
import { readPlans } from '../../../bench/plans.ts'
import { maintenanceStatements } from '../../../bench/scale/maintenance-statements.ts'
import { paymentStatements, reserve, settingsFor } from '../../../bench/scale/statements.ts'
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
  const settings = settingsFor(url)
  const apiKey = 'sk_test_statements'
  const id = await createTenant(store, { name: 'test', apiKey })
  const tenant = { id, apiKey }
  const { key, paymentId } = await reserve(store.sql, { tenant, settings })
  const completed = { key, paymentId: showId('pay', paymentId ?? '') }
  await seedAll(store.sql, { keys: KEYS, tenants: [tenant] }, () => {})
  const countKeys = async () => (await store.sql`select from idempotency_keys`).count
  const keys = await countKeys()
  const statements = [
    ...paymentStatements({ settings, tenant, completed }),
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
