// The plans of the operators' lists of webhook deliveries. What they return is tested over HTTP.
import { randomUUIDv7 } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { listDeliveries } from '../../../src/db/webhooks/webhook-deliveries.ts'
import type { Sql } from '../../../src/db/connection/client.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database.ts'
import { explain, rowsRead } from '../../support/explain.ts'
import { openTestStore } from '../reservations.ts'
import type { Store } from '../../../src/db/connection/client.ts'

const TENANTS = 3
const DELIVERIES = 4_000
/** Each tenant has a delivery a millisecond until then. */
const END = Date.now()

let database: TestDatabase
let store: Store
let sql: Sql
let first: { tenant_id: string; endpoint_id: string; event_id: string; id: string }

beforeAll(async () => {
  database = await createTestDatabase()
  store = openTestStore(database.adminUrl)
  ;({ sql } = store)
  for (let tenant = 0; tenant < TENANTS; tenant += 1) await fillTenant()
  await sql`analyze tenants`
  await sql`analyze webhook_deliveries`
  await sql`analyze events`
  const [row] = await sql<(typeof first)[]>`select * from webhook_deliveries order by id limit 1`
  first = row as typeof first
})

afterAll(async () => {
  await store.close()
  await database.drop()
})

async function fillTenant(): Promise<void> {
  const [tenant, endpoint] = [randomUUIDv7(), randomUUIDv7()]
  await sql`insert into tenants (id, name) values (${tenant}, 'Shop')`
  await sql`
    insert into webhook_endpoints (tenant_id, id, slot, url, event_types, secret)
    values (${tenant}, ${endpoint}, 1, 'https://shop.example/', '{"*"}', 's')
  `
  await sql`
    with event as (
      insert into events (tenant_id, id, type, endpoint_id, object)
      select ${tenant}, (lpad(to_hex(${END}::bigint - age), 12, '0') || substr(md5(random()::text), 13))::uuid,
        'webhook_endpoint.test', ${endpoint}, '{}'
      from generate_series(1, ${DELIVERIES}::int) as age
      returning tenant_id, id
    )
    insert into webhook_deliveries (tenant_id, id, event_id, endpoint_id, status)
    select tenant_id, id, id, ${endpoint}, 'succeeded' from event
  `
}

const LIMIT = 50
/** The id of the moment in the middle. */
const MIDDLE = `${(END - DELIVERIES / 2)
  .toString(16)
  .padStart(12, '0')
  .replace(/(?=.{4}$)/v, '-')}-7000-8000-000000000000`

/** With the deliveries between them that do not match. */
const PAGE_ROWS = (TENANTS + 1) * (LIMIT + 1)

test.each<[string, () => object, object]>([
  ['all tenants', () => ({}), {}],
  ['all tenants, a later page', () => ({}), { startingAfter: MIDDLE }],
  ['all tenants, backwards', () => ({}), { endingBefore: MIDDLE }],
  ['one tenant', () => ({ tenant: first.tenant_id }), {}],
  ['one endpoint', () => ({ endpointId: first.endpoint_id }), {}],
  ['one event', () => ({ eventId: first.event_id }), {}],
  ['a status that is frequent', () => ({ status: 'succeeded' }), {}],
])('a page of %s reads only its rows', async (_, filtersOf, cursor) => {
  const { tenant = null, ...filters } = filtersOf() as { tenant?: string }
  const nodes = await explain(sql, /^select $/, (explaining) =>
    listDeliveries(explaining, tenant, filters, { limit: LIMIT, ...cursor }),
  )

  expect(nodes.length).toBeGreaterThan(0)
  const scans = nodes.filter((node) => node['Relation Name'] === 'webhook_deliveries')
  expect(scans.map((node) => node['Node Type'])).not.toContain('Seq Scan')
  expect(rowsRead(nodes, 'webhook_deliveries')).toBeLessThanOrEqual(PAGE_ROWS)
})

test('the search for a status that no delivery has reads them once', async () => {
  const nodes = await explain(sql, /^select $/, (explaining) =>
    listDeliveries(explaining, null, { status: 'failed' }, { limit: LIMIT }),
  )

  expect(rowsRead(nodes, 'webhook_deliveries')).toBeLessThanOrEqual(TENANTS * DELIVERIES)
})

test('the deliveries of a few events are found by them', async () => {
  const events = await sql<{ id: string }[]>`select id from events limit 100`
  const eventIds = events.map(({ id }) => id)
  const nodes = await explain(sql, /^select $/, (explaining) =>
    listDeliveries(explaining, first.tenant_id, { eventIds }, { limit: 100, oldest: true }),
  )

  expect(nodes.length).toBeGreaterThan(0)
  expect(rowsRead(nodes, 'webhook_deliveries')).toBeLessThanOrEqual(100)
})
