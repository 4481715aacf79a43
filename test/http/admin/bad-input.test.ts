// Invalid requests of operators. Each is recorded in the audit trail without quoting the request,
// and changes nothing else. The corpus of `verify/fuzz` has more invalid requests.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { problems, type ProblemType } from '../../../src/domain/problems/problems.ts'
import { openFindings } from '../../../src/db/reconciliation/findings.ts'
import { showId } from '../../../src/domain/resource-id.ts'
import { makeUnknown, shownId, startAdminApi, type AdminApi } from '../../support/admin.ts'
import type { Accepted } from '../../support/engine.ts'
import { expectProblem } from '../payments.ts'

let api: AdminApi
let unknown: Accepted
let finding: string
let apiKey: string

beforeAll(async () => {
  api = await startAdminApi()
  unknown = await makeUnknown(api)
  const { sql } = api.t.engine.store
  const kind = 'missing_here'
  const findingFields = { provider: 'stripe', kind, objectId: 'pi_x', runId: null } as const
  await openFindings(sql, [{ ...findingFields, subject: null, ours: null, theirs: null }])
  const [row] = await sql<{ id: string }[]>`select id from reconciliation_findings`
  finding = showId('fnd', row?.id ?? '')
  const [key] = await sql<{ id: string }[]>`select id from api_keys`
  apiKey = showId('key', key?.id ?? '')
})

afterAll(() => api.stop())

/** The path and a valid body of each route; the tests add what is wrong. */
const routes = {
  resume: { path: () => `/admin/operations/${shownId(unknown)}/resume`, body: {} },
  resolve: {
    path: () => `/admin/operations/${shownId(unknown)}/resolve`,
    body: { outcome: 'did_not_happen', proof: 'ten characters and more' },
  },
  redrive: { path: () => '/admin/dead-letters/redrive', body: { queue: 'operations.dead' } },
  reconcile: {
    path: () => '/admin/reconciliations',
    body: { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' },
  },
  finding: { path: () => `/admin/findings/${finding}/resolve`, body: { note: 'seen' } },
  tenant: { path: () => '/admin/tenants', body: { name: 'Shop' } },
  key: { path: () => `/admin/tenants/${showId('tnt', api.t.tenantId)}/keys`, body: {} },
  limits: {
    path: () => `/admin/tenants/${showId('tnt', api.t.tenantId)}/limits`,
    body: { key_length_min: 36 },
  },
  rotate: { path: () => `/admin/keys/${apiKey}/rotate`, body: { grace_seconds: 0 } },
}
const names = Object.keys(routes) as (keyof typeof routes)[]

/** Everything that a request could have changed. */
const everything = async () => {
  const { sql } = api.t.engine.store
  return await sql`
    select
      (select jsonb_agg(k order by id) from idempotency_keys as k) as keys,
      (select jsonb_agg(r order by id) from reconciliation_runs as r) as runs,
      (select jsonb_agg(f order by id) from reconciliation_findings as f) as findings,
      (select jsonb_agg(t order by id) from tenants as t) as tenants,
      (select jsonb_agg(a order by id) from api_keys as a) as api_keys,
      (select jsonb_agg(j.id order by j.id) from atomic_jobs.job as j) as jobs
  `
}

async function expectRefused(path: string, body: unknown, type: ProblemType): Promise<void> {
  const before = await everything()
  const [{ lines } = { lines: 0 }] = await api.t.engine.store.sql<{ lines: number }[]>`
    select count(*)::int as lines from admin_actions
  `
  const answer = await api.post(path, body)
  const written = await api.t.engine.store.sql`
    select actor, details from admin_actions order by happened_at desc, id desc
  `

  expectProblem(answer, type)
  expect(await everything()).toEqual(before)
  expect(written).toHaveLength(lines + 1)
  expect(written[0]).toEqual({ actor: 'alice', details: { refused: type } })
}

describe.each(names)('%s', (name) => {
  const { path, body } = routes[name]

  test('refuses an unknown field', async () => {
    await expectRefused(path(), { ...body, force: true }, 'unknown-field')
  })

  test.each([
    ['that is not JSON', '{"note"', 'malformed-json'],
    ['that is a list', '[]', 'malformed-json'],
    ['with a repeated member', '{"note":"a","note":"b"}', 'duplicate-member'],
    ['with U+0000', '{"note":"\\u0000"}', 'forbidden-character'],
    ['with too deep nesting', `{"note":${'['.repeat(30)}${']'.repeat(30)}}`, 'nesting-too-deep'],
    ['that is too large', JSON.stringify({ note: 'x'.repeat(70_000) }), 'body-too-large'],
    ['with a card number', '{"note":"4242 4242 4242 4242"}', 'card-number-refused'],
  ] as const)('refuses a body %s', async (_, text, type) => {
    await expectRefused(path(), text, type)
  })
})

test('every problem that only operators get says that nothing was changed', () => {
  const own = [
    'nothing-to-resume',
    'operation-not-unknown',
    'second-operator-needed',
    'key-window-passed',
  ] as const
  for (const type of own) expect(problems[type].meaning).toMatch(/Nothing was changed/)
})
