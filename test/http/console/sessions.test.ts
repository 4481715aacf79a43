// Sessions of operators in the console: how they begin, what they need, and how they end.
import { hash, randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, test } from '@jest/globals'
import type { ProblemType } from '../../../src/domain/problems/problems.ts'
import { LONG_WINDOW, OPERATORS } from '../../support/admin.ts'
import { read } from '../../support/client.ts'
import { browserAt, cookieOf, logIn, postLogIn, type Browser } from '../../support/console.ts'
import { fetchApi } from '../../support/documented.ts'
import { expectProblem } from '../payments.ts'
import { adminApi } from '../../support/for-file.ts'
import { everyRoute } from '../../support/routes.ts'

const { alice, bob } = OPERATORS
const SESSION = '/console/session'

const SETTINGS = { CONSOLE: 'on' }

const api = adminApi(SETTINGS)

const sql = () => api.t.engine.store.sql

const hashOf = ({ cookie }: Browser) => hash('sha256', cookie.split('=')[1] ?? '', 'buffer')

/** Makes the session look as old, and as long idle. */
async function age(browser: Browser, { created = 0, seen = 0 }): Promise<void> {
  const { count } = await sql()`
    update console_sessions set
      created_at = created_at - ${created} * interval '1 second',
      seen_at = seen_at - ${seen} * interval '1 second'
    where token_hash = ${hashOf(browser)}
  `
  expect(count).toBe(1)
}

async function seenSecondsAgo(browser: Browser): Promise<number> {
  const [row] = await sql()<{ seconds: number }[]>`
    select extract(epoch from now() - seen_at)::float8 as seconds from console_sessions
    where token_hash = ${hashOf(browser)}
  `
  return row?.seconds ?? Number.NaN
}

/** All that a log-in could leave behind. */
async function countTraces(): Promise<unknown> {
  const [row] = await sql()`
    select
      (select count(*)::int from console_sessions) as sessions,
      (select count(*)::int from admin_actions) as actions
  `
  return row
}

describe('a log-in', () => {
  test('answers with the session, which GET shows again', async () => {
    const answer = await postLogIn(api.url, { key: alice })
    const shown = await browserAt(api.url, cookieOf(answer), '').get(SESSION)

    expect(answer.status).toBe(200)
    expect(answer.json).toMatchObject({
      object: 'console_session',
      operator: 'alice',
      role: 'operator',
      dual_control: false,
      idle_seconds: 1_800,
    })

    const hours = (Date.parse(String(answer.json['expires_at'])) - Date.now()) / 3_600_000
    expect(hours).toBeGreaterThan(11.9)
    expect(hours).toBeLessThan(12.1)
    expect(shown.json).toEqual(answer.json)
    expect(shown.headers.get('set-cookie')).toBeNull()
  })

  test('sets a cookie that scripts and other sites cannot use', async () => {
    const answer = await postLogIn(api.url, { key: alice })

    expect(answer.headers.get('set-cookie')).toMatch(
      /^atomic_console=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/,
    )
  })

  test('by https sets a cookie that is sent only by https, and only to this host', async () => {
    const url = await api.serve({ CONSOLE: 'on', TRUST_PROXY: 'loopback' })
    const https = { 'x-forwarded-proto': 'https' }
    const answer = await postLogIn(url, { key: alice }, https)
    const cookie = cookieOf(answer)

    expect(answer.headers.get('set-cookie')).toMatch(
      /^__Host-atomic_console=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
    )
    const browser = browserAt(url, cookie, '')
    expect((await browser.get(SESSION, https)).status).toBe(200)
    // Without TLS anyone on the way could have written it.
    const plain = browserAt(url, cookie.replace('__Host-', ''), '')
    expectProblem(await plain.get(SESSION, https), 'session-ended')
  })

  test('does not believe a client that it came by https', async () => {
    const answer = await postLogIn(api.url, { key: alice }, { 'x-forwarded-proto': 'https' })

    expect(answer.headers.get('set-cookie')).toMatch(/^atomic_console=.*SameSite=Strict$/)
  })

  test.each<[string, unknown, ProblemType, Record<string, string>?]>([
    ['no body', '', 'malformed-json'],
    ['no JSON', 'key', 'malformed-json'],
    ['no key', {}, 'invalid-field'],
    ['a number', { key: 1 }, 'invalid-field'],
    ['a key that is too long', { key: 'a'.repeat(501) }, 'invalid-field'],
    ['another field', { key: alice, role: 'operator' }, 'unknown-field'],
    ['a wrong key', { key: `${alice}x` }, 'operator-key-invalid'],
    ['the name of an operator', { key: 'alice' }, 'operator-key-invalid'],
    ['the API key of a tenant', () => ({ key: api.t.apiKey }), 'operator-key-invalid'],
    // A form of another site cannot send the type of JSON.
    ['text', { key: alice }, 'unsupported-content-type', { 'content-type': 'text/plain' }],
  ])('with %s is refused, and leaves nothing behind', async (_, body, problem, headers = {}) => {
    const before = await countTraces()
    const sent: unknown = typeof body === 'function' ? body() : body
    const answer = await postLogIn(api.url, sent, headers)

    expectProblem(answer, problem)
    expect(answer.headers.get('set-cookie')).toBeNull()
    expect(answer.text).not.toContain(alice)
    expect(await countTraces()).toEqual(before)
  })

  test('with wrong keys is limited for the address, and with a valid key is not', async () => {
    const url = await api.serve({ CONSOLE: 'on', RATE_LIMIT_INVALID_KEYS: '2', ...LONG_WINDOW })
    await postLogIn(url, { key: bob })
    const statuses = []
    for (const key of ['adm_1', 'adm_2', 'adm_3', alice, bob]) {
      statuses.push((await postLogIn(url, { key })).status)
    }
    const refused = await postLogIn(url, { key: 'adm_4' })

    expect(statuses).toEqual([401, 401, 429, 200, 200])
    expectProblem(refused, 'too-many-invalid-keys')
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  })

  test('deletes the sessions that have ended', async () => {
    const idle = await logIn(api.url, alice)
    const old = await logIn(api.url, alice)
    await age(idle, { seen: 1_801 })
    await age(old, { created: 43_201 })
    await logIn(api.url, alice)

    const hashes = [hashOf(idle), hashOf(old)]
    for (const tokenHash of hashes) {
      const rows = await sql()`select from console_sessions where token_hash = ${tokenHash}`
      expect(rows).toHaveLength(0)
    }
  })
})

describe('a session', () => {
  test('opens the routes of operators, under the name of its operator', async () => {
    const browser = await logIn(api.url, bob)
    const list = await browser.get('/admin/operations')
    const change = await browser.send('POST', '/admin/operations/any/resume')

    expect(list.status).toBe(200)
    expectProblem(change, 'resource-not-found')
    const trail = await api.trailOf(null)
    expect(trail.at(-1)).toMatchObject({ actor: 'bob', action: 'operation.resume' })
  })

  test('opens no route of a tenant', async () => {
    const browser = await logIn(api.url, alice)
    expectProblem(await browser.get('/v1/payments'), 'api-key-missing')
  })

  test('does not help a request with another key', async () => {
    const browser = await logIn(api.url, alice)
    const answer = await browser.get('/admin/operations', { authorization: 'Bearer adm_wrong' })

    expectProblem(answer, 'operator-key-invalid')
  })

  test('is honoured by another process, and after a restart', async () => {
    const browser = await logIn(api.url, alice)
    const other = browser.at(await api.serve(SETTINGS))

    expect((await other.get(SESSION)).json).toEqual((await browser.get(SESSION)).json)
    expectProblem(await other.send('POST', '/admin/operations/any/resume'), 'resource-not-found')
  })

  test('ends with a log-out, in every process', async () => {
    const browser = await logIn(api.url, alice)
    const other = browser.at(await api.serve({ CONSOLE: 'on' }))
    const answer = await browser.send('DELETE', SESSION)

    expect(answer.status).toBe(204)
    expect(answer.headers.get('set-cookie')).toBe(
      'atomic_console=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0',
    )
    for (const one of [browser, other]) {
      expectProblem(await one.get(SESSION), 'session-ended')
      expectProblem(await one.get('/admin/operations'), 'session-ended')
      expectProblem(await one.send('DELETE', SESSION), 'session-ended')
    }
  })

  test('and its end are in the audit trail', async () => {
    const browser = await logIn(api.url, bob)
    await browser.send('DELETE', SESSION)
    const trail = await api.trailOf(null)

    expect(trail.slice(-2)).toEqual([
      { actor: 'bob', action: 'console.login', details: { result: 'logged in', role: 'operator' } },
      { actor: 'bob', action: 'console.logout', details: { result: 'logged out' } },
    ])
  })

  test.each([
    ['when it is idle for too long', { seen: 1_795 }, { seen: 1_801 }],
    ['after twelve hours, also when it is used', { created: 43_195 }, { created: 6 }],
  ])('ends %s', async (_, before, then) => {
    const browser = await logIn(api.url, alice)
    await age(browser, before)
    expect((await browser.get(SESSION)).status).toBe(200)
    await age(browser, then)

    expectProblem(await browser.get(SESSION), 'session-ended')
    expectProblem(await browser.get('/admin/operations'), 'session-ended')
  })

  test('is extended by a request, and not by one in the background', async () => {
    const browser = await logIn(api.url, alice)
    await age(browser, { seen: 100 })
    await browser.get('/admin/operations', { 'x-background': 'true' })
    const before = await seenSecondsAgo(browser)
    await browser.get('/admin/operations')

    expect(before).toBeGreaterThan(99)
    expect(await seenSecondsAgo(browser)).toBeLessThan(50)
  })

  test('is written every few seconds at most', async () => {
    const browser = await logIn(api.url, alice)
    const version = async () => {
      const [row] = await sql()<{ xmin: string }[]>`
        select xmin::text from console_sessions where token_hash = ${hashOf(browser)}
      `
      return row?.xmin
    }
    const before = await version()
    await Promise.all([browser.get(SESSION), browser.get(SESSION), browser.get('/admin/findings')])

    expect(await version()).toBe(before)
  })

  const NEW = 'adm_new_0123456789abcdef012345'

  test.each([
    ['goes on while its key and a new one work', `alice=${NEW},alice=${alice},bob=${bob}`, 200],
    ['ends when the key of its operator is replaced', `alice=${NEW},bob=${bob}`, 401],
    ['ends when its operator is removed, even if another one gets the key', `carol=${alice}`, 401],
  ])('%s', async (_, keys, status) => {
    const browser = await logIn(api.url, alice)
    const other = browser.at(await api.serve({ CONSOLE: 'on', ADMIN_API_KEY: keys }))

    for (const path of [SESSION, '/admin/operations']) {
      const answer = await other.get(path)
      expect(answer.status).toBe(status)
      if (status === 401) expectProblem(answer, 'session-ended')
    }
  })

  test('has the role that the settings say now', async () => {
    const browser = await logIn(api.url, bob)
    const keys = `alice=${alice},bob:viewer=${bob}`
    const url = await api.serve({ CONSOLE: 'on', ADMIN_API_KEY: keys })

    expect((await browser.at(url).get(SESSION)).json).toMatchObject({ role: 'viewer' })
  })

  test.each<[string, () => Promise<string> | string]>([
    ['empty', () => ''],
    ['of another form', () => 'a'.repeat(42)],
    ['unknown', () => 'a'.repeat(43)],
    ['written by someone who has the database but no operator key', forge],
  ])('is not found by a token that is %s', async (_, make) => {
    const browser = browserAt(api.url, `atomic_console=${await make()}`, '')
    const answer = await browser.get(SESSION)

    expectProblem(answer, 'session-ended')
    expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="atomic-payments"')
    expectProblem(await browser.get('/admin/operations'), 'session-ended')
  })

  async function forge(): Promise<string> {
    const token = randomBytes(32).toString('base64url')
    await sql()`
      insert into console_sessions (token_hash, operator, key_proof)
      values (${hash('sha256', token, 'buffer')}, 'alice', ${randomBytes(32)})
    `
    return token
  }

  test('is not found by a repeated cookie', async () => {
    const { cookie } = await logIn(api.url, alice)
    const other = await logIn(api.url, bob)

    const both = browserAt(api.url, `${cookie}; ${other.cookie}`, '')
    expectProblem(await both.get(SESSION), 'session-ended')
  })

  test('is found among the cookies of other services', async () => {
    const { cookie } = await logIn(api.url, alice)

    const browser = browserAt(api.url, `theme=dark; ${cookie};other=1`, '')
    expect((await browser.get(SESSION)).status).toBe(200)
  })
})

const changes = everyRoute.flatMap(({ method, path, endpoint }) =>
  method !== 'GET' && ['admin', 'session'].includes(endpoint.access)
    ? [[method, path] as const]
    : [],
)

describe('a change by session', () => {
  test('is possible at some routes', () => {
    expect(changes.length).toBeGreaterThan(8)
  })

  test.each(changes)('%s %s needs the CSRF token of the session', async (method, path) => {
    const { cookie } = await logIn(api.url, alice)
    const { csrfToken: other } = await logIn(api.url, alice)
    const before = await countTraces()
    const url = `${api.url}${path.replaceAll(':id', 'any')}`
    for (const token of [undefined, '', 'nonsense', other]) {
      const headers = { cookie, ...(token === undefined ? {} : { 'x-csrf-token': token }) }
      const answer = await read(await fetchApi(url, { method, headers }))
      expectProblem(answer, 'csrf-token-invalid')
    }

    expect(await countTraces()).toEqual(before)
  })
})

describe('without CONSOLE=on', () => {
  const consoleRoutes = everyRoute
    .filter(({ path }) => path.startsWith('/console'))
    .map(({ method, path }) => [method, path])
  let url: string
  beforeAll(async () => {
    url = await api.serve({})
  })

  test.each(consoleRoutes)('%s %s does not exist', async (method = '', path = '') => {
    const answer = await read(
      await fetchApi(`${url}${path.replaceAll(':file', 'main.js')}`, { method }),
    )
    expectProblem(answer, 'route-not-found')
  })

  test('a session opens nothing', async () => {
    const browser = await logIn(api.url, alice)
    expectProblem(await browser.at(url).get('/admin/operations'), 'operator-key-invalid')
  })
})
