// The control server of the launcher, with a real stand-in and an API that the test plays.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { startControlServer, type ControlServer } from '../../../dev/stack/control-server.ts'
import { startProvider, type RunningProvider } from '../stripe-stand-in/running-provider.ts'
import { until } from '../../support/until.ts'

let standIn: RunningProvider
let api: Server
let keys: string[]
/** What the requests preferred. */
let preferred: (string | string[] | undefined)[]
/** The statuses with which the API answers; then 201. */
let statuses: number[]
let control: ControlServer
const crashed: string[] = []

beforeAll(async () => {
  standIn = await startProvider()
  api = createServer((request: IncomingMessage, response) => {
    keys.push(String(request.headers['idempotency-key']))
    preferred.push(request.headers['prefer'])
    request.resume()
    const headers = { 'idempotent-replayed': 'true', 'request-id': 'req_1' }
    response.writeHead(statuses.shift() ?? 201, headers).end('{ }')
  }).listen(0, '127.0.0.1')
  await once(api, 'listening')
})
beforeEach(async () => {
  keys = []
  preferred = []
  statuses = []
  crashed.length = 0
  control = await startControlServer({
    apiUrl: `http://127.0.0.1:${(api.address() as AddressInfo).port}`,
    standInUrl: standIn.url,
    apiKey: 'sk_test_demo',
    crash: (process) => void crashed.push(process),
  })
})
afterEach(() => control.stop())
afterAll(async () => {
  api.closeAllConnections()
  api.close()
  await standIn.close()
})

async function ask(
  method: string,
  path: string,
  body?: unknown,
  secret = new URL(control.url).password,
): Promise<{ status: number; json: Record<string, unknown> }> {
  const response = await fetch(`${new URL(control.url).origin}${path}`, {
    method,
    headers: { authorization: `Bearer ${secret}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: response.status, json: (await response.json()) as Record<string, unknown> }
}

test('answers before the process ends', async () => {
  expect(await ask('POST', '/kill', { process: 'api' })).toMatchObject({ status: 202 })
  expect(crashed).toEqual([])
  await until(() => crashed.length === 1)
  expect(crashed).toEqual(['api'])
})

test('injects faults into the stand-in, and removes them', async () => {
  const faults = async () => (await standIn.control<{ data: object[] }>('GET', '/faults')).data
  expect(await ask('POST', '/faults', { fault: 'reset_after' })).toMatchObject({ status: 201 })
  expect(await faults()).toMatchObject([{ fault: 'reset_after', times: 1 }])
  await ask('POST', '/faults', { fault: 'refuse', match: { nth: 3 }, times: 2 })
  expect((await ask('GET', '/faults')).json['data']).toEqual([
    { fault: 'reset_after', match: {}, delay_ms: 1_000, left: 1 },
    { fault: 'refuse', match: { nth: 3 }, delay_ms: 1_000, left: 2 },
  ])
  expect(await ask('DELETE', '/faults')).toMatchObject({ status: 200 })
  expect(await faults()).toEqual([])
  expect(await ask('POST', '/faults', { fault: 'earthquake' })).toMatchObject({ status: 400 })
})

test('counts what the stand-in executed', async () => {
  expect(await ask('GET', '/executed')).toEqual({
    status: 200,
    json: { executed: 0, charged_twice: 0, traffic_left: 0 },
  })
})

test('stops traffic', async () => {
  await ask('POST', '/traffic', { payments_per_second: 50, seconds: 300 })
  await until(() => keys.length > 0)
  const left = async () => (await ask('GET', '/executed')).json['traffic_left']
  expect(Number(await left())).toBeGreaterThan(10_000)
  await ask('DELETE', '/traffic')
  expect(await left()).toBe(0)
})

test('makes so many payments, each repeated with its key until it has a final answer', async () => {
  statuses = [503, 202, 409]
  const traffic = { payments_per_second: 50, seconds: 1 }
  expect(await ask('POST', '/traffic', traffic)).toMatchObject({ status: 202 })

  // Three of the requests are repetitions.
  await until(() => keys.length === 53)
  expect(new Set(keys).size).toBe(50)
})

test('makes one payment, and returns the answer to it, also a refusal', async () => {
  statuses = [402]
  const body = { key: 'tour-1', payment_method: 'pm_card_visa' }
  const shown = { headers: { 'idempotent-replayed': 'true' }, body: '{ }' }

  const declined = await ask('POST', '/pay', body)
  const paid = await ask('POST', '/pay', { ...body, respond_async: true })

  expect(declined).toEqual({ status: 200, json: { status: 402, ...shown } })
  expect(paid).toEqual({ status: 200, json: { status: 201, ...shown } })
  expect(keys).toEqual(['tour-1', 'tour-1'])
  expect(preferred).toEqual(['wait=3', 'respond-async'])
})

test('needs the secret, and knows no other route', async () => {
  expect(await ask('POST', '/kill', { process: 'api' }, 'guess')).toMatchObject({ status: 401 })
  expect(await ask('GET', '/kill')).toMatchObject({ status: 404 })
  expect(await ask('POST', '/constructor', {})).toMatchObject({ status: 404 })
  expect(crashed).toEqual([])
})
