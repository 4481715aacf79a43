// The plans of the figures of the overview and of what the console looks at each second.
import { randomUUID } from 'node:crypto'
import { beforeAll, expect, test } from '@jest/globals'
import type { Sql, Transaction } from '../../../src/db/connection/client.ts'
import {
  countRecentOperations,
  readTakeovers,
  listWaitingTenants,
} from '../../../src/http/operators/overview-figures.ts'
import { inService } from '../../../src/db/connection/transaction.ts'
import { listUnfinishedOperations } from '../../../src/http/console/live-feed.ts'
import { listOpenProposals } from '../../../src/http/operators/claims.ts'
import {
  countProposedOperations,
  listOperationOverviews,
} from '../../../src/http/operators/operations-search.ts'
import { explain, rowsRead } from '../../support/explain.ts'
import { t } from '../../support/own-engine.ts'

const OLD_LINES = 10_000
const PAYMENTS = 1_000
const UNFINISHED = 6
const LISTED = 2

let sql: Sql

beforeAll(async () => {
  ;({ sql } = t.engine.store)
  await t.accept()
  await sql`
    insert into payments
    select (jsonb_populate_record(payments, jsonb_build_object('id', gen_random_uuid()))).*
    from payments, generate_series(1, ${PAYMENTS}::int)
  `
  // Of 2020, by their ids.
  await sql`
    insert into phase_runs (
      tenant_id, id, payment_id, operation_id, operation, phase, attempt, lease_epoch, started_at,
      recorded_at
    )
    select tenant_id, ('016f5e66' || substr(gen_random_uuid()::text, 9))::uuid, id,
      gen_random_uuid(), 'payment.create', 'started', 1, 1 + n % 2, now(), '2020-01-01'
    from payments, generate_series(1, ${OLD_LINES / PAYMENTS}::int) as n
  `
  await sql`
    insert into idempotency_keys (
      tenant_id, id, key, fingerprint, operation, status, recovery_point, finished_at,
      response_status, response_headers, response_body, expires_at
    )
    select ${t.tenantId}, gen_random_uuid(), 'finished ' || n, '\\x00', 'webhook_endpoint.create',
      'completed', 'finished', now(), 201, '{}', '{}', now()
    from generate_series(1, ${OLD_LINES}::int) as n
  `
  await sql`
    insert into admin_actions (id, actor, action, details, happened_at)
    select ('016f5e66' || substr(gen_random_uuid()::text, 9))::uuid, 'alice', 'break.pay', '{}',
      '2020-01-01'
    from generate_series(1, ${OLD_LINES}::int)
  `
  for (let count = 1; count < UNFINISHED; count += 1) await t.accept()
  await sql`analyze admin_actions`
  await sql`analyze phase_runs`
  await sql`analyze idempotency_keys`
})

const of = (read: (tx: Transaction) => Promise<unknown>) => (to: Sql) => inService(to, read)

test.each<[string, string, (explaining: Sql) => Promise<unknown>]>([
  ['the rates', 'phase_runs', of((tx) => countRecentOperations(tx, new Date()))],
  ['takeovers', 'phase_runs', of((tx) => readTakeovers(tx, new Date()))],
  ['waiting tenants', 'idempotency_keys', of((tx) => listWaitingTenants(tx))],
  ['proposals', 'admin_actions', of((tx) => listOpenProposals(tx, new Date()))],
])('%s read only recent or unfinished rows of %s', async (_, table, read) => {
  const nodes = await explain(sql, /^\s*(with|select)\s/, read)

  expect(nodes.length).toBeGreaterThan(0)
  const scans = nodes.filter((node) => node['Relation Name'] === table)
  expect(scans.map((node) => node['Node Type'])).not.toContain('Seq Scan')
  expect(rowsRead(nodes, table)).toBeLessThan(10)
})

const proposals = [
  {
    operationId: randomUUID(),
    actor: 'alice',
    proposed: { outcome: 'happened' as const },
    proposedAt: new Date(),
  },
]
test.each<[string, (explaining: Sql) => Promise<unknown>]>([
  ['proposed operations', of((tx) => countProposedOperations(tx, proposals))],
  [
    'a page of operations with proposals',
    (to) => listOperationOverviews(to, { view: 'proposed', proposals }, { limit: 25 }),
  ],
  [
    'a page of operations that were resolved lately',
    (to) => listOperationOverviews(to, { view: 'resolved' }, { limit: 25 }),
  ],
])('%s are found without the completed ones', async (_, read) => {
  const nodes = await explain(sql, /^(select |\s*select count)/, read)

  expect(nodes.length).toBeGreaterThan(0)
  expect(rowsRead(nodes, 'idempotency_keys')).toBeLessThan(10)
  expect(rowsRead(nodes, 'phase_runs')).toBeLessThan(10)
})

test('the console reads only as many unfinished operations as it shows', async () => {
  const list = (to: Sql) => listUnfinishedOperations(to, LISTED)
  const nodes = await explain(sql, /with unfinished/, list)

  expect(nodes.length).toBeGreaterThan(0)
  const scans = nodes.filter((node) => node['Relation Name'] === 'idempotency_keys')
  expect(scans.map((node) => node['Node Type'])).not.toContain('Seq Scan')
  expect(rowsRead(nodes, 'idempotency_keys')).toBeLessThanOrEqual(2 * LISTED)
  expect(await list(sql)).toHaveLength(LISTED)
})
