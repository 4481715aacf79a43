// The plans of the figures of what the service does now. What they return is tested over HTTP.
import { randomUUID } from 'node:crypto'
import { beforeAll, expect, test } from '@jest/globals'
import type { Sql } from '../../../src/db/connection/client.ts'
import {
  countRecentOperations,
  listTakeovers,
  listWaitingTenants,
} from '../../../src/db/operators/activity-figures.ts'
import { listOpenProposals } from '../../../src/db/operators/admin-actions.ts'
import {
  countProposedOperations,
  listOperationOverviews,
} from '../../../src/db/operators/lists/operation-overviews.ts'
import { explain, rowsRead } from '../../support/explain.ts'
import { t } from '../../support/own-engine.ts'

const OLD_LINES = 10_000
const PAYMENTS = 1_000

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
  await sql`analyze admin_actions`
  await sql`analyze phase_runs`
  await sql`analyze idempotency_keys`
})

test.each<[string, string, (explaining: Sql) => Promise<unknown>]>([
  ['the rates', 'phase_runs', (to) => countRecentOperations(to, new Date())],
  ['takeovers', 'phase_runs', (to) => listTakeovers(to, new Date())],
  ['waiting tenants', 'idempotency_keys', (to) => listWaitingTenants(to)],
  ['proposals', 'admin_actions', (to) => listOpenProposals(to, new Date())],
])('%s read only recent or unfinished rows of %s', async (_, table, read) => {
  const nodes = await explain(sql, /^\s*(with|select)\s/, read)

  expect(nodes.length).toBeGreaterThan(0)
  const scans = nodes.filter((node) => node['Relation Name'] === table)
  expect(scans.map((node) => node['Node Type'])).not.toContain('Seq Scan')
  expect(rowsRead(nodes, table)).toBeLessThan(10)
})

const proposals = [
  { operationId: randomUUID(), actor: 'alice', proposed: {}, proposedAt: new Date() },
]
test.each<[string, (explaining: Sql) => Promise<unknown>]>([
  ['proposed operations', (to) => countProposedOperations(to, proposals)],
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
