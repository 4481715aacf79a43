// Who can use the operator routes. Operator keys do not open tenant routes, and API keys do not
// open operator routes.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { SERVICE_ROLE } from '../../../src/config.ts'
import { routes } from '../../../src/http/server/routes.ts'
import {
  LONG_WINDOW,
  makeUnknown,
  OPERATORS,
  startAdminApi,
  type AdminApi,
} from '../../support/admin.ts'
import { read } from '../../support/client.ts'
import { fetchApi } from '../../support/documented.ts'
import { expectProblem } from '../payments.ts'

let api: AdminApi

beforeAll(async () => {
  // The tests send more wrong keys than an address may.
  api = await startAdminApi({ RATE_LIMIT_INVALID_KEYS: '0' })
})

afterAll(() => api.stop())

const adminRoutes = routes.flatMap(({ path, get, post, delete: remove }) => [
  ...(get?.access === 'admin' ? [['GET', path]] : []),
  ...(post?.access === 'admin' ? [['POST', path]] : []),
  ...(remove?.access === 'admin' ? [['DELETE', path]] : []),
])

async function ask(url: string, method: string, path: string, authorization?: string) {
  const headers = authorization === undefined ? {} : { authorization }
  return await read(await fetchApi(`${url}${path.replaceAll(':id', 'any')}`, { method, headers }))
}

/** The parts of an answer that are the same for each request. */
const stablePartsOf = ({ status, text, headers }: Awaited<ReturnType<typeof ask>>) => ({
  status,
  text,
  headers: [...headers].filter(([name]) => !['date', 'request-id'].includes(name)),
})

describe.each(adminRoutes)('%s %s', (method = '', path = '') => {
  test('gives the same answer to a missing, a malformed and an unknown key and to the API key of a tenant', async () => {
    const { alice } = OPERATORS
    const refused = [
      undefined,
      'Bearer',
      alice,
      `Bearer ${alice}x`,
      `Bearer ${alice.slice(0, -1)}`,
      `Bearer alice=${alice}`,
      `Basic ${alice}`,
      `Bearer ${api.t.apiKey}`,
    ]
    const answers = await Promise.all(
      refused.map((authorization) => ask(api.url, method, path, authorization)),
    )

    for (const answer of answers) expectProblem(answer, 'operator-key-invalid')
    expect(new Set(answers.map((answer) => JSON.stringify(stablePartsOf(answer)))).size).toBe(1)
    expect(answers[0]?.headers.get('www-authenticate')).toBe('Bearer realm="atomic-payments"')
  })

  test('does not exist when no operator key is set', async () => {
    const url = await withoutOperators()
    const answer = await ask(url, method, path, `Bearer ${OPERATORS.alice}`)
    const nowhere = await ask(url, method, '/admin/nowhere', `Bearer ${OPERATORS.alice}`)

    expectProblem(answer, 'route-not-found')
    expect(stablePartsOf(answer)).toEqual(stablePartsOf(nowhere))
    expectProblem(await ask(url, 'PUT', path), 'route-not-found')
  })
})

let urlWithout: Promise<string> | undefined
function withoutOperators(): Promise<string> {
  urlWithout ??= api.serve({ ADMIN_API_KEY: '' })
  return urlWithout
}

test('wrong keys are limited for the address, and valid keys are not', async () => {
  const url = await api.serve({ RATE_LIMIT_INVALID_KEYS: '2', ...LONG_WINDOW })
  const send = (key?: string) =>
    ask(url, 'GET', '/admin/actions', key === undefined ? undefined : `Bearer ${key}`)
  const { alice, bob } = OPERATORS
  const statuses = []
  for (const key of [undefined, undefined, bob, 'adm_1', 'adm_2', 'adm_3', alice, bob, undefined]) {
    statuses.push((await send(key)).status)
  }
  const refused = await send('adm_4')

  expect(statuses).toEqual([401, 401, 200, 401, 401, 429, 200, 200, 401])
  expectProblem(refused, 'too-many-invalid-keys')
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
})

test('an operator key does not open tenant routes', async () => {
  const answer = await ask(api.url, 'GET', '/v1/payments', `Bearer ${OPERATORS.alice}`)
  expectProblem(answer, 'api-key-invalid')
})

test('a key without a name belongs to the operator admin', async () => {
  const url = await api.serve({ ADMIN_API_KEY: OPERATORS.bob })
  const path = '/admin/operations/any/resume'
  expectProblem(await ask(url, 'POST', path, `Bearer ${OPERATORS.bob}`), 'resource-not-found')

  const trail = await api.trailOf(null)
  expect(trail.at(-1)).toEqual({
    actor: 'admin',
    action: 'operation.resume',
    details: { refused: 'resource-not-found' },
  })
})

test('a refused key is not recorded in the audit trail', async () => {
  const before = (await api.trailOf(null)).length
  await ask(api.url, 'POST', '/admin/operations/any/resume', `Bearer ${api.t.apiKey}`)
  expect(await api.trailOf(null)).toHaveLength(before)
})

test('the audit trail is listed newest first, with filters and pages', async () => {
  const ref = await makeUnknown(api)
  const path = `/admin/operations/${(await listed(ref.id)) ?? ''}`
  await api.post(`${path}/resume`, undefined, 'alice')
  await api.post(`${path}/resume`, undefined, 'bob')
  const subject = path.split('/').at(-1)

  const all = await api.get(`/admin/actions?subject=${subject}`)
  const newest = await api.get(`/admin/actions?subject=${subject}&limit=1`)
  const ofAlice = await api.get(`/admin/actions?subject=${subject}&actor=alice`)
  const [first] = newest.json['data'] as { id: string }[]
  const next = await api.get(`/admin/actions?subject=${subject}&starting_after=${first?.id}`)

  expect(all.json).toMatchObject({
    object: 'list',
    has_more: false,
    data: [
      { actor: 'bob', action: 'operation.resume', details: { result: 'check_asked' } },
      { actor: 'alice', action: 'operation.resume', details: { result: 'check_asked' } },
    ],
  })
  expect(newest.json).toMatchObject({ has_more: true, data: [{ actor: 'bob' }] })
  expect(next.json['data']).toEqual(ofAlice.json['data'])
  expect(all.json['data']).toMatchObject([{ id: /./ }, {}].map(() => ({ object: 'admin_action' })))
})

async function listed(id: string): Promise<string | undefined> {
  const { json } = await api.get('/admin/operations?status=unknown')
  const [row] = await api.t.engine.store.sql<{ key: string }[]>`
    select key from idempotency_keys where id = ${id}
  `
  const data = json['data'] as { id: string; idempotency_key: string }[]
  return data.find(({ idempotency_key: key }) => key === row?.key)?.id
}

test('Postgres allows the service to append to the audit trail but not to change it', async () => {
  const change = async (statement: 'update' | 'delete') =>
    await api.t.engine.store.sql.begin(async (tx) => {
      await tx`set local role ${tx(SERVICE_ROLE)}`
      if (statement === 'update') await tx`update admin_actions set actor = 'nobody'`
      else await tx`delete from admin_actions`
    })

  await expect(change('update')).rejects.toMatchObject({ code: '42501' })
  await expect(change('delete')).rejects.toMatchObject({ code: '42501' })
})
