// Tests what a receiver can do on its socket: every attempt ends in time, is recorded, and leaves the
// worker free for the next one.
import { readFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createSender } from '../../src/webhooks/send-webhook.ts'
import { makeAuthority, type Authority, type Certified } from '../support/certificates.ts'
import { get, post } from '../support/client.ts'
import { ownService } from '../support/for-file.ts'
import { startRawServer, type RawServer } from '../support/raw-server.ts'
import { startReceiver } from '../support/receiver.ts'
import type { Tenant } from '../support/service.ts'
import { makeTemporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'

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
  ['gives hints without end', floods('', `HTTP/1.1 103 Early Hints${ENDS}`), 'timeout'],
  [
    'continues and then answers',
    says(`HTTP/1.1 100 Continue${ENDS}`, `HTTP/1.1 204 No Content${ENDS}`),
    204,
  ],
  ['answers 200 with an upgrade', says(`HTTP/1.1 200 OK${UPGRADE}${EMPTY}`), 200],
  ['answers 426 with an upgrade', says(`HTTP/1.1 426 Upgrade Required${UPGRADE}${EMPTY}`), 426],
  ['answers status 000', says(`HTTP/1.1 000 None${EMPTY}`), 'connection_failed'],
  ['answers status 600', says(`HTTP/1.1 600 High${EMPTY}`), 600],
  ['answers status 1000', says(`HTTP/1.1 1000 High${EMPTY}`), 'connection_failed'],
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

const sender = (timeoutMs: number) =>
  createSender({ timeoutMs, allowInsecure: true, resolve: () => Promise.resolve([]) })
const hasty = sender(500)
/** Longer than a busy machine takes for the first bytes of an answer. */
const patient = sender(5_000)

/** Expects the result of one attempt, after which no connection stays open, also when the receiver keeps its side. */
async function expectReply(server: RawServer, result: number | string, url = server.url) {
  const send = result === 'timeout' ? hasty : patient

  const { httpStatus, error } = {
    httpStatus: null,
    error: null,
    ...(await send({ url, headers: {}, body: '{}' })),
  }

  expect(httpStatus ?? error).toBe(result)
  await until(() => server.open() === 0)
  await server.stop()
}

describe('an attempt ends when the receiver', () => {
  const attempts = new Map<string, Promise<unknown>>()

  // All at the same time: of some answers, the connection ends with the time limit.
  beforeAll(() => {
    for (const [title, behaviour, result] of rows) {
      const attempt = startRawServer(behaviour).then((server) => expectReply(server, result))
      attempts.set(
        title,
        attempt.catch((error: unknown) => error),
      )
    }
  })

  test.each(rows)('%s', async (title) => {
    expect(await attempts.get(title)).toBeUndefined()
  })
})

describe('an attempt over TLS ends when the receiver', () => {
  const usual = getCACertificates('default')
  let trusted: Authority
  let foreign: Authority

  beforeAll(async () => {
    const folder = await makeTemporaryFolder()
    trusted = await makeAuthority(folder, 'known')
    foreign = await makeAuthority(folder, 'unknown')
    setDefaultCACertificates([...usual, await readFile(trusted.certificate, 'utf8')])
  })
  afterAll(() => setDefaultCACertificates(usual))

  const filesOf = async ({ certificate, key }: Certified) => ({
    cert: await readFile(certificate),
    key: await readFile(key),
  })
  const issuedBy = async (authority: Authority) =>
    await filesOf(await authority.issue('receiver', [{ ip: '127.0.0.1' }]))

  test.each<Row>([
    ['answers', says(`HTTP/1.1 204 No Content${ENDS}`), 204],
    ['says nothing', says(), 'timeout'],
    ['half-closes', saysAndEnds(''), 'connection_failed'],
    ['resets', (socket) => void socket.destroy(), 'connection_failed'],
    ['switches protocols (101)', says(`HTTP/1.1 101 Switching Protocols${UPGRADE}${ENDS}`), 101],
    ['sends a body without end', floods(`HTTP/1.1 200 OK${ENDS}`, 'x'), 200],
  ])('%s', async (_title, behaviour, result) => {
    await expectReply(await startRawServer(behaviour, await issuedBy(trusted)), result)
  })

  test('has a certificate of an unknown authority', async () => {
    const server = await startRawServer(says(), await issuedBy(foreign))

    expect(await patient({ url: server.url, headers: {}, body: '' })).toEqual({
      error: 'connection_failed',
    })
    await server.stop()
  })

  test.each<Row>([
    ['never answers the handshake', says(), 'timeout'],
    ['closes in the handshake', saysAndEnds(''), 'connection_failed'],
    ['resets in the handshake', saysAndResets(''), 'connection_failed'],
    ['answers the handshake without TLS', says(`HTTP/1.1 204 No${ENDS}`), 'connection_failed'],
    ['answers the handshake byte by byte', drips('\x16\x03\x03\x40\0', '\0'), 'timeout'],
    ['sends an alert', says(Buffer.from([21, 3, 3, 0, 2, 2, 40])), 'connection_failed'],
  ])('%s', async (_title, behaviour, result) => {
    const server = await startRawServer(behaviour)

    await expectReply(server, result, server.url.replace('http:', 'https:'))
  })
})

describe('the service', () => {
  const PLACES = 4
  const TIMEOUT_MS = 1_000
  const service = ownService({
    WEBHOOK_ALLOW_INSECURE: 'true',
    WEBHOOK_TIMEOUT_MS: String(TIMEOUT_MS),
    WEBHOOK_CONCURRENCY: String(PLACES),
  })

  /** Creates an endpoint and sends a test event to it. Returns how to read the first attempt. */
  async function sendTest(tenant: Tenant, url: string) {
    const { apiUrl } = service
    const { json } = await post(apiUrl, tenant, '/v1/webhook-endpoints', { url })
    const path = `/v1/webhook-endpoints/${String(json['id'])}/test`
    const { headers } = await post(apiUrl, tenant, path)
    const delivery = headers.get('location') ?? ''
    const read = async () => (await get(apiUrl, tenant, delivery)).json['attempts'] as object[]
    return () => until(async () => (await read())[0])
  }

  test.each<Row>([
    ['a timeout', says(), 'timeout'],
    ['the highest status', says(`HTTP/1.1 999 High${EMPTY}`), 999],
    ['a reason with a NUL byte', says(`HTTP/1.1 500 N\0L${EMPTY}`), 500],
  ])('records %s', async (_title, behaviour, result) => {
    const server = await startRawServer(behaviour)

    const read = await sendTest(await service.createTenant(), server.url)

    const [http_status, error] = typeof result === 'number' ? [result, null] : [null, result]
    const attempt = (await read()) as { latency_ms: number }
    expect(attempt).toMatchObject({ http_status, error })
    if (error) expect(attempt.latency_ms).toBeGreaterThanOrEqual(TIMEOUT_MS - 5)
    await server.stop()
  })

  test('keeps no place of other tenants for receivers that switch protocols', async () => {
    const server = await startRawServer(says(`HTTP/1.1 101 Switching Protocols${UPGRADE}${ENDS}`))
    const tenant = await service.createTenant()
    const rude = await Promise.all(
      Array.from({ length: 4 * PLACES }, () => sendTest(tenant, server.url)),
    )
    for (const read of rude) await read()
    const receiver = await startReceiver()

    const read = await sendTest(await service.createTenant(), receiver.url)

    expect(await read()).toMatchObject({ http_status: 204 })
    await receiver.stop()
    await server.stop()
  })
})
