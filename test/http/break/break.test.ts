// The endpoints by which the console breaks the stack of `npm start`, with a launcher that the test plays.
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { faultNames } from '../../../dev/stripe-stand-in/faults/faults.ts'
import type { ProblemType } from '../../../src/domain/problems/problems.ts'
import { makeCompleted, startAdminApi, type AdminApi } from '../../support/admin.ts'
import { read } from '../../support/client.ts'
import { logIn, type Browser } from '../../support/console.ts'
import { fetchApi } from '../../support/documented.ts'
import { expectProblem } from '../payments.ts'

const SECRET = 'launcher-secret-0123456789'
const KEYS = {
  alice: 'adm_alice_0123456789abcdef0123',
  carol: 'adm_carol_0123456789abcdef0123',
}

/** The launcher: what it was asked, and what it answers next. */
let launcher: Server
let asked: { request: string; authorization: string | undefined; body: unknown }[]
let answer: { status: number; body: unknown }

let api: AdminApi
let settings: Record<string, string>
let url: string
let alice: Browser
let carol: Browser

beforeAll(async () => {
  launcher = createServer((request, response) => {
    void (async () => {
      const body = request.method === 'POST' ? await json(request) : undefined
      const { authorization } = request.headers
      asked.push({ request: `${request.method} ${request.url}`, authorization, body })
      response.writeHead(answer.status).end(JSON.stringify(answer.body))
    })()
  }).listen(0, '127.0.0.1')
  await once(launcher, 'listening')
  const { port } = launcher.address() as AddressInfo
  api = await startAdminApi()
  settings = {
    ADMIN_API_KEY: `alice=${KEYS.alice},carol:viewer=${KEYS.carol}`,
    CONSOLE: 'on',
    STRIPE_API_BASE: api.t.provider.url,
    CONSOLE_LAUNCHER_URL: `http://launcher:${SECRET}@127.0.0.1:${port}`,
  }
  url = await api.serve(settings)
  alice = await logIn(url, KEYS.alice)
  carol = await logIn(url, KEYS.carol)
})
beforeEach(() => {
  asked = []
  answer = { status: 202, body: {} }
})
afterAll(async () => {
  launcher.closeAllConnections()
  launcher.close()
  await api.stop()
})

const FAULT = { fault: 'reset_after', match: { path: '/v1/payment_intents/*/capture' } }
const TRAFFIC = { payments_per_second: 5, seconds: 10 }

test.each(['worker', 'api', 'webhooks'])(
  'kills the process %s through the launcher',
  async (process) => {
    answer.body = { process }
    const { status, json: killed } = await alice.send('POST', '/console/break/kill', { process })

    expect(status).toBe(202)
    expect(killed).toEqual({ object: 'break_kill', process })
    expect(asked).toEqual([
      { request: 'POST /kill', authorization: `Bearer ${SECRET}`, body: { process } },
    ])
  },
)

test('injects and removes faults, and starts traffic', async () => {
  const fault = await alice.send('POST', '/console/break/faults', FAULT)
  const cleared = await alice.send('DELETE', '/console/break/faults')
  const traffic = await alice.send('POST', '/console/break/traffic', TRAFFIC)

  expect(fault).toMatchObject({ status: 201, json: { object: 'break_fault', times: 1 } })
  expect(cleared).toMatchObject({ status: 200, json: { object: 'break_faults', cleared: true } })
  expect(traffic).toMatchObject({ status: 202, json: { object: 'break_traffic', ...TRAFFIC } })
  expect(asked.map(({ request, body }) => [request, body])).toEqual([
    ['POST /faults', { ...FAULT, times: 1 }],
    ['DELETE /faults', undefined],
    ['POST /traffic', TRAFFIC],
  ])
})

test('stops traffic, and lists the faults that wait', async () => {
  const stopped = await alice.send('DELETE', '/console/break/traffic')
  const waiting = [{ fault: 'reset_after', match: {}, delay_ms: 1_000, left: 2 }]
  answer = { status: 200, body: { data: waiting } }
  const faults = await carol.get('/console/break/faults')

  expect(stopped).toMatchObject({ status: 200, json: { object: 'break_traffic_stop' } })
  expect(faults.json).toEqual({ object: 'break_fault_list', data: waiting })
  expect(asked.map(({ request }) => request)).toEqual(['DELETE /traffic', 'GET /faults'])
  expectProblem(await carol.send('DELETE', '/console/break/traffic'), 'operator-role-insufficient')
  expectProblem(await carol.get('/console/break/faults?all=1'), 'invalid-query')
})

test('accepts the name of each fault of the stand-in', async () => {
  for (const fault of faultNames) {
    const { status } = await alice.send('POST', '/console/break/faults', { fault })
    expect({ fault, status }).toEqual({ fault, status: 201 })
  }
})

const PAY = { key: 'tour-1', payment_method: 'pm_card_visa' }

test('makes one payment through the launcher, and returns the answer to it as it was sent', async () => {
  const sent = { status: 201, headers: { 'idempotent-replayed': 'true' }, body: '{"id": 1}' }
  answer = { status: 200, body: sent }
  const { status, json: paid } = await alice.send('POST', '/console/break/pay', { key: 'tour-1' })

  expect(status).toBe(200)
  expect(paid).toEqual({ object: 'break_payment', ...sent })
  expect(asked.map(({ request, body }) => [request, body])).toEqual([
    ['POST /pay', { ...PAY, respond_async: false }],
  ])
})

test('counts the charges of the stand-in beside the payments', async () => {
  await makeCompleted(api)
  await api.t.accept()
  answer = { status: 200, body: { executed: 1, charged_twice: 0, traffic_left: 7 } }
  const { status, json: counts } = await carol.get('/console/break/counts')

  expect(status).toBe(200)
  expect(counts).toEqual({
    object: 'break_counts',
    provider_executed: 1,
    payments: 1,
    in_progress: 1,
    charged_twice: 0,
    traffic_left: 7,
  })
  expectProblem(await alice.get('/console/break/counts?since=now'), 'invalid-query')
})

test('a session says whether its operator may break something', async () => {
  const { CONSOLE_LAUNCHER_URL: _, ...without } = settings
  const elsewhere = alice.at(await api.serve(without))

  expect((await alice.get('/console/session')).json['may_break']).toBe(true)
  expect((await carol.get('/console/session')).json['may_break']).toBe(false)
  expect((await elsewhere.get('/console/session')).json['may_break']).toBe(false)
})

test('each is in the audit trail', async () => {
  await alice.send('POST', '/console/break/kill', { process: 'worker' })

  const trail = (await api.trailOf(null)).filter(
    (entry) => (entry as { action: string }).action === 'break.kill',
  )
  expect(trail.at(-1)).toEqual({
    actor: 'alice',
    action: 'break.kill',
    details: { process: 'worker' },
  })
})

describe('refuses', () => {
  test.each<[string, 'kill' | 'faults' | 'traffic' | 'pay', unknown, ProblemType]>([
    ['a process that may not be killed', 'kill', { process: 'postgres' }, 'invalid-field'],
    ['no process', 'kill', {}, 'invalid-field'],
    ['a signal', 'kill', { process: 'api', signal: 'SIGSTOP' }, 'unknown-field'],
    ['no fault', 'faults', {}, 'invalid-field'],
    ['a fault with another name', 'faults', { fault: '../../reset' }, 'invalid-field'],
    ['a fault that strikes never', 'faults', { ...FAULT, times: 0 }, 'invalid-field'],
    ['a fault at no path', 'faults', { ...FAULT, match: { path: 'v1' } }, 'invalid-field'],
    ['an unknown condition', 'faults', { ...FAULT, match: { host: 'x' } }, 'unknown-field'],
    ['no traffic', 'traffic', { ...TRAFFIC, payments_per_second: 0 }, 'invalid-field'],
    ['too much traffic', 'traffic', { ...TRAFFIC, payments_per_second: 51 }, 'invalid-field'],
    ['endless traffic', 'traffic', { ...TRAFFIC, seconds: 301 }, 'invalid-field'],
    ['a payment without a key', 'pay', {}, 'invalid-field'],
    ['a key that ends its header', 'pay', { key: 'tour\r\nx: y' }, 'invalid-field'],
    ['a card', 'pay', { ...PAY, payment_method: 'visa' }, 'invalid-field'],
    ['an amount', 'pay', { ...PAY, amount: 1 }, 'unknown-field'],
    ['what is not JSON', 'traffic', '[', 'malformed-json'],
  ])('%s', async (_, path, body, type) => {
    expectProblem(await alice.send('POST', `/console/break/${path}`, body), type)
    expect(asked).toEqual([])
  })

  test('a fault that the stand-in does not know', async () => {
    answer = { status: 400, body: { error: { message: 'no such fault' } } }
    const refused = await alice.send('POST', '/console/break/faults', { fault: 'earthquake' })

    expectProblem(refused, 'invalid-field')
    expect(refused.json['errors']).toMatchObject([{ pointer: '/fault' }])
  })

  test('what the launcher refuses or does not answer', async () => {
    answer = { status: 401, body: {} }
    expectProblem(
      await alice.send('POST', '/console/break/kill', { process: 'api' }),
      'launcher-unavailable',
    )
    const gone = { ...settings, CONSOLE_LAUNCHER_URL: `http://launcher:${SECRET}@127.0.0.1:1` }
    const other = alice.at(await api.serve(gone))
    expectProblem(await other.get('/console/break/counts'), 'launcher-unavailable')
  })

  test.each(['kill', 'faults', 'traffic', 'pay'])('a viewer at /console/break/%s', async (path) => {
    const refused = await carol.send('POST', `/console/break/${path}`, { process: 'api' })

    expectProblem(refused, 'operator-role-insufficient')
    expect(asked).toEqual([])
  })

  test('a request without a session, and a change without its CSRF token', async () => {
    const path = `${url}/console/break/kill`
    const body = JSON.stringify({ process: 'api' })
    const type = { 'content-type': 'application/json' }
    const withKey = { ...type, authorization: `Bearer ${KEYS.alice}` }
    const withCookie = { ...type, cookie: alice.cookie }
    const ask = async (headers: Record<string, string>) =>
      await read(await fetchApi(path, { method: 'POST', headers, body }))

    expectProblem(await ask(type), 'session-ended')
    expectProblem(await ask(withKey), 'session-ended')
    expectProblem(await ask(withCookie), 'csrf-token-invalid')
    expect(asked).toEqual([])
  })

  test('every route without the launcher', async () => {
    const { CONSOLE_LAUNCHER_URL: _, ...without } = settings
    const other = alice.at(await api.serve(without))

    for (const path of ['kill', 'faults', 'traffic', 'pay']) {
      expectProblem(await other.send('POST', `/console/break/${path}`, {}), 'route-not-found')
    }
    expectProblem(await other.send('DELETE', '/console/break/faults'), 'route-not-found')
    expectProblem(await other.get('/console/break/counts'), 'route-not-found')
  })
})
