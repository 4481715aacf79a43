// The server of the page that breaks the stack, with a real stand-in and an API that the test plays.
import { createServer, type IncomingMessage } from 'node:http'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { startBreakItServer, type BreakItServer } from '../../../dev/break-it/server.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database.ts'
import { startProvider, type RunningProvider } from '../stripe-stand-in/running-provider.ts'
import { startRawServer } from '../../support/raw-server.ts'
import { until } from '../../support/until.ts'
import { listening, type Listening } from '../../support/listening.ts'

let standIn: RunningProvider
let api: Listening
let keys: string[]
/** What the requests preferred. */
let preferred: (string | string[] | undefined)[]
/** The statuses with which the API answers; then 201. */
let statuses: number[]
let database: TestDatabase
let server: BreakItServer
let cookie: string
const crashed: string[] = []

beforeAll(async () => {
  standIn = await startProvider()
  database = await createTestDatabase()
  const answering = createServer((request: IncomingMessage, response) => {
    keys.push(String(request.headers['idempotency-key']))
    preferred.push(request.headers['prefer'])
    request.resume()
    const headers = { 'idempotent-replayed': 'true', 'request-id': 'req_1' }
    response.writeHead(statuses.shift() ?? 201, headers).end('{ }')
  })
  api = await listening(answering)
})
beforeEach(async () => {
  keys = []
  preferred = []
  statuses = []
  crashed.length = 0
  await start(api.url)
})
afterEach(() => server.stop())
afterAll(async () => {
  await api.stop()
  await standIn.close()
  await database.drop()
})

async function start(apiUrl: string): Promise<void> {
  server = await startBreakItServer({
    apiUrl,
    standInUrl: standIn.url,
    databaseUrl: database.url,
    apiKey: 'sk_test_demo',
    adminKey: 'adm_alice',
    crash: (process) => void crashed.push(process),
  })
  const { headers } = await fetch(server.url, { redirect: 'manual' })
  cookie = headers.getSetCookie()[0]?.split(';')[0] ?? ''
}

async function ask(
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = { cookie, 'x-csrf-token': '' },
): Promise<{ status: number; json: Record<string, unknown> }> {
  const response = await fetch(new URL(`/break${path}`, server.url), {
    method,
    headers: { ...headers, 'content-type': 'application/json' },
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

test('makes so many payments, each repeated with its key until it has a final answer', async () => {
  statuses = [503, 202, 409]
  const traffic = { payments_per_second: 50, seconds: 1 }
  expect(await ask('POST', '/traffic', traffic)).toMatchObject({ status: 202 })

  // Three of the requests are repetitions.
  await until(() => keys.length === 53)
  expect(new Set(keys).size).toBe(50)
})

test('answers in time when the API does not, or switches protocols without a word', async () => {
  const heads = ['', 'HTTP/1.1 101 Switching Protocols\r\n\r\n']
  for (const head of heads) {
    const silent = await startRawServer((socket) => void socket.write(head))
    await server.stop()
    await start(silent.url.slice(0, -1))

    const answer = await ask('POST', '/pay', { key: 'k', payment_method: 'pm_card_visa' })
    expect(answer.status).toBe(502)
    await silent.stop()
  }
})

test.each<[string, string, unknown]>([
  ['a process that may not be killed', '/kill', { process: 'postgres' }],
  ['a signal', '/kill', { process: 'api', signal: 'SIGSTOP' }],
  ['too much traffic', '/traffic', { payments_per_second: 51, seconds: 1 }],
  ['a key that ends its header', '/pay', { key: 'tour\r\nx: y' }],
])('refuses %s', async (_, path, body) => {
  expect(await ask('POST', path, body)).toMatchObject({ status: 400 })
  expect([crashed, keys]).toEqual([[], []])
})

test('needs the secret, and a header that no page of another port can send', async () => {
  const kill = (headers: Record<string, string>) =>
    ask('POST', '/kill', { process: 'api' }, headers)
  expect(await kill({ 'x-csrf-token': '' })).toMatchObject({ status: 401 })
  expect(await kill({ cookie: `${cookie}0`, 'x-csrf-token': '' })).toMatchObject({ status: 401 })
  expect(await kill({ cookie })).toMatchObject({ status: 401 })
  expect(await ask('GET', '/counts', undefined, {})).toMatchObject({ status: 401 })
  expect(crashed).toEqual([])
})
