// The plans of the statements that find payments and refunds by their reference, among many without one.
import { randomUUIDv7 } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Store } from '../../../src/db/connection/client.ts'
import { findUserOfReference, listPayments } from '../../../src/db/payments/payments.ts'
import { listRefunds } from '../../../src/db/payments/refunds.ts'
import { testOnOneServer } from '../../support/one-server.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database.ts'
import { explain, rowsRead } from '../../support/explain.ts'
import { makeTenant, openTestStore } from '../reservations.ts'

const PAYMENTS = 5_000
/** Payments with one reference: declined ones, and one that succeeded. */
const OF_ONE = 30
const REFERENCE = 'order-7'

let database: TestDatabase
let store: Store
let tenantId: string

beforeAll(async () => {
  database = await createTestDatabase()
  store = openTestStore(database.adminUrl)
  tenantId = await makeTenant(store)
  const other = await makeTenant(store)
  for (const tenant of [tenantId, other]) await fill(tenant)
  await store.sql`analyze payments, refunds`
})

afterAll(async () => {
  await store.close()
  await database.drop()
})

async function fill(tenant: string): Promise<void> {
  await store.sql`
    insert into payments (
      tenant_id, id, amount_minor, currency, status, previous_status, capture_method, payment_method,
      metadata, provider, provider_payment_id, amount_captured_minor, reference
    )
    select ${tenant}, gen_random_uuid(), 1999, 'usd', 'succeeded', 'processing', 'automatic',
      'pm_card_visa', '{}', 'stripe', 'pi_' || number, 1999,
      case when number % 2 = 0 then 'order-' || number || '-' || number end
    from generate_series(1, ${PAYMENTS}::int) as number
  `
  await store.sql`
    insert into payments (
      tenant_id, id, amount_minor, currency, status, previous_status, capture_method, payment_method,
      metadata, provider, failure_code, reference
    )
    select ${tenant}, gen_random_uuid(), 1999, 'usd',
      case number when 1 then 'processing' else 'declined' end, 'processing', 'automatic',
      'pm_card_visa', '{}', 'stripe', case number when 1 then null else 'card_declined' end,
      ${REFERENCE}
    from generate_series(1, ${OF_ONE}::int) as number
  `
  // Declined refunds of one reference, and one that uses it, among many others.
  await store.sql`
    insert into refunds (
      tenant_id, id, payment_id, amount_minor, currency, status, previous_status, failure_code,
      metadata, reference
    )
    select ${tenant}, gen_random_uuid(), payment.id, 1, 'usd',
      case number when 1 then 'processing' else 'declined' end,
      case number when 1 then null else 'processing' end,
      case number when 1 then null else 'card_declined' end, '{}',
      case when number <= ${OF_ONE}::int then ${REFERENCE} else 'return-' || number end
    from generate_series(1, ${PAYMENTS}::int) as number
    cross join (
      select id from payments where tenant_id = ${tenant} and status = 'succeeded' limit 1
    ) as payment
  `
}

const LIMIT = 10

describe.each([
  ['payments', listPayments],
  ['refunds', listRefunds],
] as const)('of %s', (table, list) => {
  test.each<[string, { startingAfter?: string; endingBefore?: string }]>([
    ['first', {}],
    ['later', { startingAfter: 'c0000000-0000-4000-8000-000000000000' }],
    ['earlier', { endingBefore: randomUUIDv7() }],
  ])('the %s page of a reference reads only those that have it', async (_, cursor) => {
    const nodes = await explain(store.sql, /^select $/, (explaining) =>
      list(explaining, tenantId, { reference: REFERENCE }, { limit: LIMIT, ...cursor }),
    )

    expect(nodes.length).toBeGreaterThan(0)
    expect(nodes.map((node) => node['Node Type'])).not.toContain('Seq Scan')
    expect(rowsRead(nodes, table)).toBeLessThanOrEqual(OF_ONE)
  })
})

testOnOneServer.each(['payment', 'refund'] as const)(
  'the %s that uses a reference is found by it',
  async (kind) => {
    const name = { tenantId, kind, reference: REFERENCE }
    const nodes = await explain(store.sql, /select id from/, (explaining) =>
      findUserOfReference(explaining, name),
    )

    expect(nodes.map((node) => node['Index Name'])).toContain(`${kind}s_by_reference`)
    expect(rowsRead(nodes, `${kind}s`)).toBe(1)
  },
)
