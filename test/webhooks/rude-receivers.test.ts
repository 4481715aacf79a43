// Tests what a receiver can do on its socket: every attempt ends in time, is recorded, and leaves the
// worker free for the next one.
import { readFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { makeAuthority, type Certified } from '../support/certificates.ts'
import { get, post } from '../support/client.ts'
import { startRawServer, type RawServer } from '../support/raw-server.ts'
import { startReceiver } from '../support/receiver.ts'
import { startService, type OwnService, type Tenant } from '../support/service.ts'
import { makeTemporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'

const TIMEOUT_MS = 1_000
const PLACES = 4

/** Gives an attempt one second. */
let hasty: OwnService
/** Gives an attempt longer than a busy machine takes for the first bytes of an answer. */
let patient: OwnService
let trusted: Certified
let foreign: Certified

beforeAll(async () => {
  const folder = await makeTemporaryFolder()
  const ca = await makeAuthority(folder, 'known')
  trusted = await ca.issue('receiver', [{ ip: '127.0.0.1' }])
  foreign = await (await makeAuthority(folder, 'unknown')).issue('receiver', [{ ip: '127.0.0.1' }])
  const start = (timeoutMs: number) =>
    startService({
      WEBHOOK_ALLOW_INSECURE: 'true',
      WEBHOOK_TIMEOUT_MS: String(timeoutMs),
      WEBHOOK_CONCURRENCY: String(PLACES),
      NODE_EXTRA_CA_CERTS: ca.certificate,
    })
  ;[hasty, patient] = await Promise.all([start(TIMEOUT_MS), start(5 * TIMEOUT_MS)])
})
afterAll(() => Promise.all([hasty.stop(), patient.stop()]))

interface Attempt {
  readonly latency_ms: number
  readonly http_status: number | null
  readonly error: string | null
}

/** Creates an endpoint and sends a test event to it. Returns how to read the first attempt. */
async function sendTest(
  { apiUrl }: OwnService,
  tenant: Tenant,
  url: string,
): Promise<() => Promise<Attempt>> {
  const { json } = await post(apiUrl, tenant, '/v1/webhook-endpoints', { url })
  const path = `/v1/webhook-endpoints/${String(json['id'])}/test`
  const { headers } = await post(apiUrl, tenant, path)
  const delivery = headers.get('location') ?? ''
  const read = async () => (await get(apiUrl, tenant, delivery)).json['attempts'] as Attempt[]
  return () => until(async () => (await read())[0])
}

type Behaviour = (socket: Socket) => void
type Row = readonly [title: string, behaviour: Behaviour, result: number | string]

const ENDS = '\r\n\r\n'
const EMPTY = `\r\nContent-Length: 0${ENDS}`
/** Writes these bytes, and leaves the connection open. */
const says =
  (...parts: (string | Buffer)[]): Behaviour =>
  (socket) => {
    for (const part of parts) socket.write(part)
  }
const saysAndEnds =
  (bytes: string): Behaviour =>
  (socket) =>
    void socket.end(bytes)
const saysAndResets =
  (bytes: string): Behaviour =>
  (socket) =>
    void socket.write(bytes, () => socket.resetAndDestroy())
/** Writes the start, and then more of the same every few milliseconds. */
const drips =
  (start: string, more: string): Behaviour =>
  (socket) => {
    socket.write(start)
    const timer = setInterval(() => socket.write(more), 20)
    socket.once('close', () => clearInterval(timer))
  }
/** Writes as fast as the other side reads. */
const floods =
  (start: string, more: string): Behaviour =>
  (socket) => {
    socket.write(start)
    const chunk = more.repeat(1_000)
    const goOn = () => {
      while (!socket.destroyed && socket.write(chunk));
    }
    socket.on('drain', goOn)
    goOn()
  }

const UPGRADE = '\r\nConnection: Upgrade\r\nUpgrade: websocket'
const CHUNKED = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked${ENDS}`

const rows: readonly Row[] = [
  ['says nothing', says(), 'timeout'],
  ['half-closes without an answer', saysAndEnds(''), 'connection_failed'],
  ['resets the connection', saysAndResets(''), 'connection_failed'],
  ['says nothing after half of a status line', says('HTTP/1.1 2'), 'timeout'],
  ['half-closes after half of a status line', saysAndEnds('HTTP/1.1 2'), 'connection_failed'],
  ['resets after half of a status line', saysAndResets('HTTP/1.1 2'), 'connection_failed'],
  ['sends no status line', says(`hello${ENDS}`), 'connection_failed'],
  ['sends a body only', says(ENDS), 'timeout'],
  ['speaks another protocol', says('220 mail.example ESMTP\r\n'), 'connection_failed'],
  ['speaks HTTP/2', says(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0])), 'connection_failed'],
  ['speaks HTTP/1.0', saysAndEnds(`HTTP/1.0 200 OK${ENDS}`), 200],
  ['ends lines with LF only', says('HTTP/1.1 200 OK\nContent-Length: 0\n\n'), 'connection_failed'],
  [
    'sends 17 KB of headers',
    says(`HTTP/1.1 200 OK\r\nX: ${'x'.repeat(17_000)}${EMPTY}`),
    'connection_failed',
  ],
  ['sends endless headers', floods('HTTP/1.1 200 OK\r\n', 'X: x\r\n'), 'connection_failed'],
  ['sends headers byte by byte', drips('HTTP/1.1 200 OK\r\nX: ', 'x'), 'timeout'],
  [
    'sends a header that is none',
    says(`HTTP/1.1 200 OK\r\nno header${EMPTY}`),
    'connection_failed',
  ],
  ['sends two lengths', says(`HTTP/1.1 200 OK\r\nContent-Length: 1${EMPTY}`), 'connection_failed'],
  ['only continues (100)', says(`HTTP/1.1 100 Continue${ENDS}`), 'timeout'],
  ['switches protocols (101)', says(`HTTP/1.1 101 Switching Protocols${UPGRADE}${ENDS}`), 101],
  [
    'switches protocols and half-closes',
    saysAndEnds(`HTTP/1.1 101 Switching${UPGRADE}${ENDS}`),
    101,
  ],
  [
    'switches protocols and sends 200',
    says(`HTTP/1.1 101 S${UPGRADE}${ENDS}HTTP/1.1 200 OK${EMPTY}`),
    101,
  ],
  ['answers 101 without an upgrade', says(`HTTP/1.1 101 Switching Protocols${ENDS}`), 101],
  ['only processes (102)', says(`HTTP/1.1 102 Processing${ENDS}`), 'timeout'],
  ['only gives hints (103)', says(`HTTP/1.1 103 Early Hints\r\nLink: </a>${ENDS}`), 'timeout'],
  ['gives hints again and again', drips('', `HTTP/1.1 103 Early Hints${ENDS}`), 'timeout'],
  ['gives hints without end', floods('', `HTTP/1.1 103 Early Hints${ENDS}`), 'timeout'],
  ['sends an unknown informational status', says(`HTTP/1.1 199 Hm${ENDS}`), 'timeout'],
  [
    'continues and then answers',
    says(`HTTP/1.1 100 Continue${ENDS}`, `HTTP/1.1 204 No Content${ENDS}`),
    204,
  ],
  ['answers 200 with an upgrade', says(`HTTP/1.1 200 OK${UPGRADE}${EMPTY}`), 200],
  ['answers 426 with an upgrade', says(`HTTP/1.1 426 Upgrade Required${UPGRADE}${EMPTY}`), 426],
  ['answers status 000', says(`HTTP/1.1 000 None${EMPTY}`), 'connection_failed'],
  ['answers status 099', says(`HTTP/1.1 099 Low${EMPTY}`), 'connection_failed'],
  ['answers status 600', says(`HTTP/1.1 600 High${EMPTY}`), 600],
  ['answers status 999', says(`HTTP/1.1 999 High${EMPTY}`), 999],
  ['answers status 1000', says(`HTTP/1.1 1000 High${EMPTY}`), 'connection_failed'],
  ['answers status 65736', says(`HTTP/1.1 65736 High${EMPTY}`), 'connection_failed'],
  ['answers status -200', says(`HTTP/1.1 -200 Low${EMPTY}`), 'connection_failed'],
  ['answers without a reason', says(`HTTP/1.1 200${EMPTY}`), 200],
  ['has a NUL byte in its reason', says(`HTTP/1.1 500 N\0L${EMPTY}`), 500],
  [
    'has invalid UTF-8 in its reason',
    says('HTTP/1.1 500 ', Buffer.from([0xff, 0xfe, 0xc3]), EMPTY),
    500,
  ],
  ['has a huge reason', says(`HTTP/1.1 500 ${'x'.repeat(17_000)}${EMPTY}`), 'connection_failed'],
  [
    'has a NUL byte in a header',
    says(`HTTP/1.1 503 No\r\nRetry-After: 1\0${EMPTY}`),
    'connection_failed',
  ],
  [
    'has invalid UTF-8 in a header',
    says('HTTP/1.1 503 No\r\nRetry-After: ', Buffer.from([0xff, 0xc3]), EMPTY),
    503,
  ],
  ['sends a body without end', floods(`HTTP/1.1 200 OK${ENDS}`, 'x'), 200],
  ['sends a body byte by byte', drips(`HTTP/1.1 200 OK${ENDS}`, 'x'), 200],
  [
    'sends less body than it says',
    saysAndEnds(`HTTP/1.1 200 OK\r\nContent-Length: 9${ENDS}x`),
    200,
  ],
  ['resets in the body', saysAndResets(`HTTP/1.1 500 No\r\nContent-Length: 9${ENDS}x`), 500],
  ['breaks a chunk', says(`${CHUNKED}zz\r\nhello`), 200],
  ['never ends its chunks', drips(CHUNKED, '1\r\nx\r\n'), 200],
  ['half-closes in a chunk', saysAndEnds(`${CHUNKED}5\r\nhe`), 200],
  ['sends endless trailers', floods(`${CHUNKED}0\r\n`, 'X: x\r\n'), 200],
  ['answers twice', says(`HTTP/1.1 204 No Content${ENDS}`, `HTTP/1.1 500 No${EMPTY}`), 204],
]

/** Each row with its own receiver and tenant, all at the same time: a worker looks for jobs every two seconds. */
function testEach(
  list: readonly Row[],
  start: (behaviour: Behaviour) => Promise<{ url: string; server: RawServer }>,
): void {
  const attempts = new Map<string, Promise<void>>()
  const attempt = async (behaviour: Behaviour, result: number | string) => {
    const { url, server } = await start(behaviour)
    await expectAttempt(url, result)
    // No connection stays behind, also when the receiver keeps its side open.
    await until(() => server.open() === 0)
    await server.stop()
  }
  beforeAll(() => {
    for (const [title, behaviour, result] of list) {
      const attempted = attempt(behaviour, result)
      attempted.catch(() => {})
      attempts.set(title, attempted)
    }
  })

  test.each(list)('%s', async (title) => {
    await expect(attempts.get(title)).resolves.toBeUndefined()
  })
}

async function expectAttempt(url: string, result: number | string): Promise<void> {
  const service = result === 'timeout' ? hasty : patient
  const read = await sendTest(service, await service.createTenant(), url)
  const { latency_ms: latencyMs, ...attempt } = await read()
  const [status, error] = typeof result === 'number' ? [result, null] : [null, result]
  expect(attempt).toMatchObject({ http_status: status, error })
  if (error === 'timeout') expect(latencyMs).toBeGreaterThanOrEqual(TIMEOUT_MS - 5)
}

const overHttp = async (behaviour: Behaviour) => {
  const server = await startRawServer(behaviour)
  return { server, url: server.url }
}
const https = (url: string) => url.replace('http:', 'https:')
const overTls = (of: () => Certified) => async (behaviour: Behaviour) => {
  const { certificate, key } = of()
  const files = { cert: await readFile(certificate), key: await readFile(key) }
  const server = await startRawServer(behaviour, files)
  return { server, url: server.url }
}

describe('an attempt is recorded when the receiver', () => {
  testEach(rows, overHttp)
})

describe('an attempt over TLS is recorded when the receiver', () => {
  testEach(
    [
      ['answers', says(`HTTP/1.1 204 No Content${ENDS}`), 204],
      ['says nothing', says(), 'timeout'],
      ['half-closes', saysAndEnds(''), 'connection_failed'],
      ['resets', (socket) => void socket.destroy(), 'connection_failed'],
      ['switches protocols (101)', says(`HTTP/1.1 101 Switching Protocols${UPGRADE}${ENDS}`), 101],
      ['sends a body without end', floods(`HTTP/1.1 200 OK${ENDS}`, 'x'), 200],
    ],
    overTls(() => trusted),
  )
  test('has a certificate of an unknown authority', async () => {
    const { url, server } = await overTls(() => foreign)(saysAndEnds(''))

    await expectAttempt(url, 'connection_failed')
    await server.stop()
  })

  testEach(
    [
      ['never answers the handshake', says(), 'timeout'],
      ['closes in the handshake', saysAndEnds(''), 'connection_failed'],
      ['resets in the handshake', saysAndResets(''), 'connection_failed'],
      [
        'answers the handshake without TLS',
        says(`HTTP/1.1 204 No Content${ENDS}`),
        'connection_failed',
      ],
      ['answers the handshake byte by byte', drips('\x16\x03\x03\x40\0', '\0'), 'timeout'],
      ['sends an alert', says(Buffer.from([21, 3, 3, 0, 2, 2, 40])), 'connection_failed'],
    ],
    async (behaviour) => {
      const { server, url } = await overHttp(behaviour)
      return { server, url: https(url) }
    },
  )
})

test('receivers that switch protocols keep no place of other tenants', async () => {
  const server = await startRawServer(says(`HTTP/1.1 101 Switching Protocols${UPGRADE}${ENDS}`))
  const { url } = server
  const tenant = await patient.createTenant()
  const rude = await Promise.all(
    Array.from({ length: 4 * PLACES }, () => sendTest(patient, tenant, url)),
  )
  for (const read of rude) await read()
  const receiver = await startReceiver()

  const read = await sendTest(patient, await patient.createTenant(), receiver.url)

  expect(await read()).toMatchObject({ http_status: 204 })
  await receiver.stop()
  await server.stop()
})
