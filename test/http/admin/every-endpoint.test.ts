// Properties of all endpoints below /admin, also of new ones. The corpus of `verify/fuzz` has more
// invalid requests.
import { beforeAll, describe, expect, test } from '@jest/globals'
import { openFindings } from '../../../src/db/operations/findings.ts'
import type { z } from 'zod'
import type { ProblemType } from '../../../src/domain/problems/problems.ts'
import { parseId, showId } from '../../../src/domain/resource-id.ts'
import type { Contract } from '../../../src/http/contracts/contract.ts'
import { endpoints } from '../../../src/http/server/routes.ts'
import { makeUnknown, OPERATORS, shownId } from '../../support/admin.ts'
import { read, type ApiResponse } from '../../support/client.ts'
import { fetchApi } from '../../support/documented.ts'
import { adminApi } from '../../support/for-file.ts'
import { untilLaterMillisecond } from '../../support/later-millisecond.ts'
import { asked } from '../../operations/made-payments.ts'
import { expectProblem } from '../payments.ts'
import {
  makeDelivery,
  makeEndpoint,
  SIGNING_SECRET,
} from '../webhooks/operators/tenant-webhooks.ts'

const api = adminApi()

interface Route {
  readonly method: string
  readonly path: string
  readonly contract: Contract
}

const all: [string, Route][] = Object.entries(endpoints)
  .filter(([name]) => name.includes(' /admin/'))
  .map(([name, contract]) => {
    const [method = '', path = ''] = name.split(' ')
    return [name, { method, path, contract }]
  })
const lists = all.filter(([, { contract }]) => contract.isList === true)
const withId = all.filter(([, { path }]) => path.includes(':id'))
const commands = all.filter(([, { method }]) => method !== 'GET')

/** A resource of each kind, by the path before its id. */
const ids: Record<string, string> = {}
/** A tenant that has nothing. */
let stranger: string

beforeAll(async () => {
  const { sql } = api.t.engine.store
  const tenant = showId('tnt', api.t.tenantId)
  for (let times = 0; times < 3; times += 1) {
    await untilLaterMillisecond()
    ids['operations'] = ids['idempotency-keys'] = shownId(await makeUnknown(api))
    const window = { from: `2026-01-0${times + 1}T00:00:00Z`, to: '2026-01-09T00:00:00Z' }
    const run = await api.post('/admin/reconciliations', window)
    ids['reconciliations'] ??= String(run.json['id'])
    const runId = parseId('rec', ids['reconciliations']) ?? null
    const about = { provider: 'stripe', kind: 'missing_here', runId, subject: null } as const
    await openFindings(sql, [{ ...about, objectId: `pi_${times}`, ours: null, theirs: null }])
    const endpoint = await makeEndpoint(sql, api.t.tenantId)
    ids['webhook-endpoints'] = endpoint.id
    ids['webhook-deliveries'] = (await makeDelivery(sql, endpoint)).id
    ids['keys'] = String((await api.post(`/admin/tenants/${tenant}/keys`)).json['id'])
    stranger = String((await api.post('/admin/tenants', { name: 'Shop' })).json['id'])
    await api.post(`/admin/tenants/${tenant}/customers`, { customers: [`cus_${times}`] })
    await sql`insert into atomic_jobs.job (name, data) values ('operations.dead', '{}')`
  }
  const waiting = await asked(api.t)
  expect((await api.t.readPayment(waiting)).clientSecret).toMatch(/_secret_/)
  ids['payments'] = showId('pay', waiting.paymentId)
  const [finding] = await sql<{ id: string }[]>`select id from reconciliation_findings limit 1`
  ids['findings'] = showId('fnd', finding?.id ?? '')
  ids['tenants'] = tenant
})

/** The path, by default with the id of a resource that is there. */
const fill = (path: string, id = ids[path.split('/')[2] ?? ''] ?? '') => path.replace(':id', id)

const headers = {
  authorization: `Bearer ${OPERATORS.alice}`,
  'content-type': 'application/json',
}

async function ask({ method }: Route, path: string, body?: unknown): Promise<ApiResponse> {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const init = method === 'GET' || text === undefined ? {} : { body: text }
  return await read(await fetchApi(`${api.url}${path}`, { method, headers, ...init }))
}

const UNUSUAL = [
  '',
  "'; drop table payments; --",
  "' or true --",
  '%',
  '\u0000',
  '\ud83d\ude00<script>',
  '9'.repeat(400),
  '-1',
  '1e3',
  '1.5',
  '{}',
  'constructor',
]

describe.each(lists)('%s', (_, route) => {
  const list = (query: string) => ask(route, `${fill(route.path)}?${query}`)

  /** The list itself, or the part of a resource that is one. */
  function pageOf({ json }: ApiResponse): { ids: string[]; more: unknown } {
    const page = (json['findings'] ?? json) as { data: { id: string }[]; has_more: unknown }
    return { ids: page.data.map(({ id }) => id), more: page.has_more }
  }

  test('pages forward and backward through all of its entries', async () => {
    const { ids: entries } = pageOf(await list('limit=100'))

    expect(entries.length).toBeGreaterThan(1)
    // The ids of jobs are random.
    if (!route.path.includes('dead')) expect(entries).toEqual(entries.toSorted().toReversed())
    for (const [place, id] of entries.slice(0, 5).entries()) {
      const before = entries[place - 1]
      const after = before === undefined ? '' : `&starting_after=${before}`
      expect(pageOf(await list(`limit=1${after}`))).toEqual({
        ids: [id],
        more: place < entries.length - 1,
      })
      expect(pageOf(await list(`limit=1&ending_before=${id}`))).toEqual({
        ids: before === undefined ? [] : [before],
        more: place > 1,
      })
    }
    expect(pageOf(await list(`limit=100&ending_before=${entries.at(-1)}`)).ids).toEqual(
      entries.slice(0, -1),
    )
  })

  const { tenant: ofTenant } = route.contract.query?.shape ?? {}

  test('refuses the id of no entry as a cursor, and that of another tenant alike', async () => {
    const [id = ''] = pageOf(await list('limit=1')).ids
    const absent = `${id.slice(0, -1)}${id.endsWith('7') ? '6' : '7'}`

    for (const cursor of ['starting_after', 'ending_before']) {
      expectProblem(await list(`${cursor}=${absent}`), 'invalid-query')
      if (ofTenant === undefined) continue
      const foreign = await list(`tenant=${stranger}&${cursor}=${id}`)
      expectProblem(foreign, 'invalid-query')
      expect(foreign.text).toBe((await list(`tenant=${stranger}&${cursor}=${absent}`)).text)
    }
  })

  test.each([
    'starting_after=secret',
    'ending_before=evt_01k9zq4s5tfexbgc1m6v8w2d3h',
    'starting_after=x&ending_before=x',
    'limit=0',
    'limit=101',
    'limit=1&limit=1',
    'color=secret',
    'constructor=1',
  ])('refuses %s', async (query) => {
    const answer = await list(query)

    expectProblem(answer, 'invalid-query')
    expect(answer.text).not.toContain('secret')
  })

  const filters = Object.keys(route.contract.query?.shape ?? {}).map((name) => [name])

  if (filters.length > 0) {
    test.each(filters)('refuses what %s cannot be, or finds nothing', async (name) => {
      for (const value of UNUSUAL) {
        const answer = await list(`${name}=${encodeURIComponent(value)}`)
        if (answer.status === 200) expect(pageOf(answer).ids).toEqual([])
        else expectProblem(answer, 'invalid-query')
      }
      expectProblem(await list(`${name}=a&${name}=b`), 'invalid-query')
    })
  }
})

test.each(all.filter(([, { method }]) => method === 'GET'))(
  '%s shows no secret',
  async (_, route) => {
    const answer = await ask(route, fill(route.path))

    expect(answer.status).toBe(200)
    expect(answer.text).not.toContain(SIGNING_SECRET)
    expect(answer.text).not.toMatch(/_secret_|client_secret|next_action/)
  },
)

/** Everything that a request could have changed. */
const everything = () => api.t.engine.store.sql`
  select
    (select jsonb_agg(k order by id) from idempotency_keys as k) as keys,
    (select jsonb_agg(r order by id) from reconciliation_runs as r) as runs,
    (select jsonb_agg(f order by id) from reconciliation_findings as f) as findings,
    (select jsonb_agg(t order by id) from tenants as t) as tenants,
    (select jsonb_agg(a order by id) from api_keys as a) as api_keys,
    (select jsonb_agg(c order by id) from provider_customers as c) as customers,
    (select jsonb_agg(d order by id) from webhook_deliveries as d) as deliveries,
    (select jsonb_agg(j.id order by j.id) from atomic_jobs.job as j) as jobs
`

const readTrail = () => api.t.engine.store.sql`
  select actor, subject, details from admin_actions order by happened_at desc, id desc
`

async function expectRefused(
  route: Route,
  { id, body }: { id?: string; body?: unknown },
  type: ProblemType,
): Promise<void> {
  const before = [await everything(), await readTrail()] as const

  expectProblem(await ask(route, fill(route.path, id), body), type)

  expect(await everything()).toEqual(before[0])
  const isRecorded = route.method !== 'GET'
  const [newest, ...others] = await readTrail()
  expect(isRecorded ? others : [newest, ...others]).toEqual(before[1])
  if (!isRecorded) return
  expect(newest).toMatchObject({ actor: 'alice', details: { refused: type } })
  expect(JSON.stringify(newest)).not.toContain('secret')
}

describe.each(withId)('%s', (_, route) => {
  const unknown = String(
    (route.contract.path?.shape['id'] as z.ZodType | undefined)?.meta()?.['examples'],
  )

  test.each([
    ['an unknown id', unknown],
    ['an id of another kind', 'act_01k9zq4s5tfexbgc1m6v8w2d3h'],
    ['what is no id', 'secret'],
    ['U+0000', '%00'],
    ['a quote', "'"],
  ])('answers 404 to %s', async (_what, id) => {
    const body = route.contract.body?.example
    await expectRefused(route, { id, ...(body && { body }) }, 'resource-not-found')
  })
})

describe.each(commands)('%s', (_, route) => {
  test('refuses an unknown field, and what is not JSON', async () => {
    const body = { ...route.contract.body?.example, secret: true }
    await expectRefused(route, { body }, 'unknown-field')
    await expectRefused(route, { body: '{"secret"' }, 'malformed-json')
  })
})

test.each([
  ['that is a list', '[]', 'malformed-json'],
  ['with a repeated member', '{"note":"a","note":"b"}', 'duplicate-member'],
  ['with U+0000', '{"note":"\\u0000"}', 'forbidden-character'],
  ['with too deep nesting', `{"note":${'['.repeat(30)}${']'.repeat(30)}}`, 'nesting-too-deep'],
  ['that is too large', JSON.stringify({ note: 'x'.repeat(70_000) }), 'body-too-large'],
  ['with a card number', '{"note":"4242 4242 4242 4242"}', 'card-number-refused'],
] as const)('a body %s is refused', async (_, body, type) => {
  const [, route] = commands.find(([name]) => name.includes('findings')) ?? []
  if (route === undefined) throw new Error('no command has this path')
  await expectRefused(route, { body }, type)
})
