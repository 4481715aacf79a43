// Who may use the routes of operators, and what their roles allow.
import { beforeAll, describe, expect, test } from '@jest/globals'
import { SERVICE_ROLE } from '../../../src/config.ts'
import { LONG_WINDOW, makeUnknown, OPERATORS, shownId } from '../../support/admin.ts'
import { read } from '../../support/client.ts'
import { type Browser, logIn } from '../../support/console.ts'
import { fetchApi } from '../../support/documented.ts'
import { adminApi } from '../../support/for-file.ts'
import { everyRoute } from '../../support/routes.ts'
import { expectProblem, stablePartsOf } from '../payments.ts'

const VIEWER = 'adm_vera_0123456789abcdef01234'
const KEYS = `alice=${OPERATORS.alice},bob=${OPERATORS.bob},vera:viewer=${VIEWER}`

// The tests send more wrong keys than an address may.
const api = adminApi({ RATE_LIMIT_INVALID_KEYS: '0', CONSOLE: 'on', ADMIN_API_KEY: KEYS })

const adminRoutes = everyRoute
  .filter(({ endpoint }) => endpoint.access === 'admin')
  .map(({ method, path }) => [method, path] as const)

async function ask(url: string, method: string, path: string, authorization?: string) {
  const headers = authorization === undefined ? {} : { authorization }
  return await read(await fetchApi(`${url}${path.replaceAll(':id', 'any')}`, { method, headers }))
}

describe.each(adminRoutes)('%s %s', (method, path) => {
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

test('the audit trail is filtered by subject and actor, and shows what each operator did', async () => {
  const operation = shownId(await makeUnknown(api))
  for (const operator of ['alice', 'bob'] as const) {
    await api.post(`/admin/operations/${operation}/resume`, undefined, operator)
  }
  const list = async (query = '') =>
    (await api.get(`/admin/actions?subject=${operation}${query}`)).json['data'] as object[]
  const resumed = {
    object: 'admin_action',
    action: 'operation.resume',
    details: { result: 'check_asked' },
  }

  const all = await list()

  expect(all).toMatchObject([
    { ...resumed, actor: 'bob' },
    { ...resumed, actor: 'alice' },
  ])
  expect(await list('&actor=alice')).toEqual(all.slice(1))
})

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

let browser: Browser

beforeAll(async () => {
  browser = await logIn(api.url, VIEWER)
})

const reads = adminRoutes.filter(([method]) => method === 'GET')
const changes = adminRoutes.filter(([method]) => method !== 'GET')

const pathOf = (route: string) => route.replaceAll(':id', 'any')

const askByKey = (method: string, route: string, key = VIEWER) =>
  ask(api.url, method, route, `Bearer ${key}`)

describe('a viewer', () => {
  test.each(changes)('may not %s %s, by key or by session', async (method, route) => {
    const answers = [
      await askByKey(method, route),
      await browser.send(method as 'POST' | 'DELETE', pathOf(route)),
    ]
    const trail = await api.trailOf(null)

    for (const answer of answers) {
      expectProblem(answer, 'operator-role-insufficient')
      expect(answer.headers.get('www-authenticate')).toBe(
        'Bearer realm="atomic-payments", error="insufficient_scope"',
      )
    }
    const refused = 'operator-role-insufficient'
    const entry = { actor: 'vera', action: 'operator.refuse', details: { refused, method, route } }
    expect(trail.slice(-2)).toEqual([entry, entry])
  })

  test.each(reads)('may %s %s, by key or by session', async (method, route) => {
    const answers = [await askByKey(method, route), await browser.get(pathOf(route))]

    for (const { status } of answers) expect([200, 404]).toContain(status)
  })

  test('changes nothing with a valid request either', async () => {
    const operation = shownId(await makeUnknown(api))
    const body = { outcome: 'did_not_happen', proof: 'The provider says so.' }
    const answer = await browser.send('POST', `/admin/operations/${operation}/resolve`, body)

    expectProblem(answer, 'operator-role-insufficient')
    const { json } = await browser.get(`/admin/operations/${operation}`)
    expect(json).toMatchObject({ status: 'unknown' })
    expect(await api.trailOf(operation)).toEqual([])
  })

  test('may log out', async () => {
    const own = await logIn(api.url, VIEWER)
    expect((await own.send('DELETE', '/console/session')).status).toBe(204)
  })
})
