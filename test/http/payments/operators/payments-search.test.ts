// The plans of the operators' list of payments. What it returns is tested over HTTP.
import { randomUUIDv7 } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import {
  findPaymentOverview,
  listPaymentsOfTenants,
  type PaymentFilters,
} from '../../../../src/http/operators/payments-search.ts'
import type { Sql, Store } from '../../../../src/db/connection/client.ts'
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts'
import { explain, rowsRead } from '../../../support/explain.ts'
import { openTestStore } from '../../../db/reservations.ts'

const TENANTS = 3
const PAYMENTS = 6_000
/** Of each tenant. */
const STUCK = 5

let database: TestDatabase
let store: Store
let sql: Sql
let tenant: string

beforeAll(async () => {
  database = await createTestDatabase()
  store = openTestStore(database.adminUrl)
  ;({ sql } = store)
  for (let count = 0; count < TENANTS; count += 1) tenant = await fillTenant()
  await sql`analyze tenants`
  await sql`analyze payments`
  await sql`analyze idempotency_keys`
  await sql`analyze phase_runs`
})

afterAll(async () => {
  await store.close()
  await database.drop()
})

/** Makes payments with one completed operation each; the newest ones are stuck. */
async function fillTenant(): Promise<string> {
  const id = randomUUIDv7()
  await sql`insert into tenants (id, name) values (${id}, 'Shop')`
  await sql`
    insert into payments (
      tenant_id, id, amount_minor, currency, status, previous_status, capture_method, payment_method,
      metadata, provider, provider_payment_id, amount_captured_minor
    )
    select ${id}, gen_random_uuid(), 1999, 'usd', 'succeeded', 'processing', 'automatic', 'pm_card_visa',
      '{}', 'stripe', 'pi_' || number, 1999
    from generate_series(1, ${PAYMENTS}::int) as number
  `
  await sql`
    insert into idempotency_keys (
      tenant_id, id, key, fingerprint, operation, payment_id, status, recovery_point, finished_at,
      response_status, response_headers, response_body, expires_at
    )
    select ${id}, gen_random_uuid(), 'key ' || id, '\\x00', 'payment.create', id, 'completed', 'finished',
      now(), 201, '{}', '{}', now()
    from payments where tenant_id = ${id}
  `
  await sql`
    insert into idempotency_keys (
      tenant_id, id, key, fingerprint, operation, payment_id, status, lease_expires_at, expires_at
    )
    select ${id}, gen_random_uuid(), 'stuck ' || id, '\\x00', 'refund.create', id, 'processing',
      now() - interval '1 minute', now()
    from (select id from payments where tenant_id = ${id} order by id desc limit ${STUCK}) as newest
  `
  await sql`
    insert into phase_runs (
      tenant_id, id, payment_id, operation_id, operation, phase, reached, attempt, lease_epoch, started_at
    )
    select tenant_id, gen_random_uuid(), payment_id, id, operation, phase, coalesce(phase, 'begun'), 1, 1, now()
    from idempotency_keys cross join (values (null), ('started'), ('captured')) as steps (phase)
    where tenant_id = ${id}
  `
  return id
}

const LIMIT = 50
/** Each page is read once by its ids, and then with all columns. */
const PAGE_ROWS = 2 * (LIMIT + 1)
const CURSOR = 'c0000000-0000-7000-8000-000000000000'
const SEARCHED = 1_000
const AFTER = { startingAfter: CURSOR }
const BEFORE = { endingBefore: CURSOR }

const scansOf = (nodes: Awaited<ReturnType<typeof explain>>, table: string) =>
  nodes.filter((node) => node['Relation Name'] === table).map((node) => node['Node Type'])

/** Expects a plan that reads at most so many rows of each table, and none of them as a whole. */
async function expectPlan(
  statement: RegExp,
  read: (explaining: Sql) => Promise<unknown>,
  most: Readonly<Record<string, number>>,
): Promise<void> {
  const nodes = await explain(sql, statement, read)
  expect(nodes.length).toBeGreaterThan(0)
  for (const [table, rows] of Object.entries(most)) {
    expect(scansOf(nodes, table)).not.toContain('Seq Scan')
    expect(rowsRead(nodes, table)).toBeLessThanOrEqual(rows)
  }
}

test.each<[string, () => PaymentFilters, object]>([
  ['all tenants', () => ({}), {}],
  ['all tenants, a later page', () => ({}), { startingAfter: CURSOR }],
  ['all tenants, backwards', () => ({}), { endingBefore: CURSOR }],
  ['one tenant', () => ({ tenant }), {}],
  ['one tenant, a later page', () => ({ tenant }), { startingAfter: CURSOR }],
  ['a frequent status', () => ({ status: 'succeeded' }), {}],
  ['a frequent currency', () => ({ currency: 'usd' }), {}],
  ['a frequent amount', () => ({ amountMinor: 1999 }), {}],
  [
    'frequent values of a tenant',
    () => ({ tenant, status: 'succeeded', currency: 'usd', amountMinor: 1999 }),
    {},
  ],
])('a page of %s reads only its rows', async (_, filters, cursor) => {
  const request = { limit: LIMIT, ...cursor }
  await expectPlan(/with searched/, (to) => listPaymentsOfTenants(to, filters(), request), {
    payments: PAGE_ROWS,
  })
})

test.each<[string, () => PaymentFilters, object]>([
  ['status', () => ({ status: 'unknown' }), {}],
  ['currency', () => ({ currency: 'eur' }), {}],
  ['amount', () => ({ amountMinor: 7 }), {}],
  ['status and currency', () => ({ status: 'succeeded', currency: 'eur' }), {}],
  ['currency and amount, a later page', () => ({ currency: 'usd', amountMinor: 7 }), AFTER],
  ['status, backwards', () => ({ status: 'unknown' }), BEFORE],
  ['currency of a tenant', () => ({ tenant, currency: 'eur' }), {}],
])('the search for a %s that no payment has ends', async (_, filters, cursor) => {
  const request = { limit: LIMIT, ...cursor }
  for (const statement of [/with searched/, /^\s+select id from payments\n\s+where true $/]) {
    const list = (to: Sql) => listPaymentsOfTenants(to, filters(), request, SEARCHED)
    await expectPlan(statement, list, { payments: SEARCHED + 1 })
  }
})

test('a search that ended says where the next page goes on, in both directions', async () => {
  const all = await sql<{ id: string }[]>`select id from payments order by id desc`
  const list = (filters: PaymentFilters, request: object, searched: number) =>
    listPaymentsOfTenants(sql, filters, { limit: LIMIT, ...request }, searched)
  const idAt = (place: number) => all[place]?.id ?? ''
  const rare = { status: 'declined' } as const
  await sql`
    update payments set status = 'declined', failure_code = 'card_declined', previous_status = 'processing'
    where id in (${idAt(5)}, ${idAt(1_500)})
  `

  const first = await list(rare, {}, SEARCHED)
  const second = await list(rare, { startingAfter: first?.searchedTo }, SEARCHED)
  const back = await list(rare, { endingBefore: second?.searchedTo }, SEARCHED)
  const whole = await list(rare, {}, TENANTS * PAYMENTS + 1)

  const idsOf = (page: typeof first) => page?.items.map(({ payment }) => payment.id)
  expect(first).toMatchObject({ hasMore: true, searchedTo: idAt(SEARCHED - 1) })
  expect(idsOf(first)).toEqual([idAt(5)])
  expect(second).toMatchObject({ hasMore: true, searchedTo: idAt(2 * SEARCHED - 1) })
  expect(idsOf(second)).toEqual([idAt(1_500)])
  expect(back).toMatchObject({ hasMore: true, searchedTo: idAt(SEARCHED - 1) })
  expect(idsOf(back)).toEqual([idAt(1_500)])
  expect(whole).toMatchObject({ hasMore: false, searchedTo: null })
  expect(idsOf(whole)).toEqual([idAt(5), idAt(1_500)])
})

test.each<[string, () => PaymentFilters, number, number]>([
  ['stuck payments', () => ({ stuck: true }), 2 * TENANTS * STUCK, TENANTS * STUCK],
  ['stuck payments of a tenant', () => ({ tenant, stuck: true }), 2 * STUCK, TENANTS * STUCK],
  ['the payments of a key', () => ({ key: 'key 1' }), 0, 0],
  ['the payments of an id at the provider', () => ({ providerId: 'pi_7' }), 3 * TENANTS, 0],
])('a page of %s reads no other payment', async (_, filters, payments, operations) => {
  const read = (statement: RegExp) =>
    explain(sql, statement, (explaining) =>
      listPaymentsOfTenants(explaining, filters(), { limit: LIMIT }),
    )
  const found = await read(/select named/)
  const page = await read(/with searched/)

  const nodes = [...found, ...page]
  expect(found.length).toBeGreaterThan(0)
  expect(scansOf(nodes, 'payments')).not.toContain('Seq Scan')
  expect(scansOf(nodes, 'idempotency_keys')).not.toContain('Seq Scan')
  expect(rowsRead(nodes, 'payments')).toBeLessThanOrEqual(payments)
  expect(rowsRead(nodes, 'idempotency_keys')).toBeLessThanOrEqual(operations)
})

test('the operations of a page are found by its payments, by one statement for all tenants', async () => {
  const nodes = await explain(sql, /select distinct on/, (explaining) =>
    listPaymentsOfTenants(explaining, {}, { limit: LIMIT }),
  )

  expect(nodes.filter((node) => node['Node Type'] === 'Unique')).toHaveLength(1)
  expect(scansOf(nodes, 'phase_runs')).not.toContain('Seq Scan')
  expect(scansOf(nodes, 'idempotency_keys')).not.toContain('Seq Scan')
  expect(rowsRead(nodes, 'phase_runs')).toBeLessThanOrEqual(4 * (LIMIT + TENANTS * STUCK))
  expect(rowsRead(nodes, 'idempotency_keys')).toBeLessThan(LIMIT + 2 * TENANTS * STUCK + 1)
})

test('one payment is found by its id', async () => {
  const [row] = await sql<{ id: string }[]>`select id from payments limit 1`
  const find = (to: Sql) => findPaymentOverview(to, row?.id ?? '')
  await expectPlan(/select \* from payments/, find, { payments: 1 })
})
