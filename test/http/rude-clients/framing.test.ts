// Requests whose framing is ambiguous, malformed or too large, byte by byte.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { paymentBody } from '../../support/client.ts'
import { type LimitedApi, startLimitedApi } from '../../support/limited-api.ts'
import type { Tenant } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import {
  paymentBytes,
  type RawRequest,
  requestBytes,
  sendRaw,
  watchAccepted,
} from './raw-connection.ts'

const TIMEOUTS = { checkIntervalMs: 50, silenceMaxMs: 30_000 }

let api: LimitedApi
let tenant: Tenant

beforeAll(async () => {
  api = await startLimitedApi({}, TIMEOUTS)
})
beforeEach(async () => {
  tenant = await api.createTenant()
})
afterAll(() => api.stop())

type Headers = NonNullable<RawRequest['headers']>

const BODY = JSON.stringify(paymentBody())
const SIZE = BODY.length.toString(16)

/** A payment with the key `outer`, these headers and exactly this body. */
const outer = (headers: Headers, body: string) => paymentBytes(tenant, 'outer', { headers, body })

/** A chunked payment with exactly this body. */
const chunked = (body: string, headers: Headers = {}) =>
  outer({ 'content-length': undefined, 'transfer-encoding': 'chunked', ...headers }, body)

/** A hidden payment that a proxy with another interpretation would see as a separate request. */
const inner = () => paymentBytes(tenant, 'inner')

/** Returns all answers, and the idempotency keys that were written. */
async function sendAndLook(bytes: string, answersExpected?: number) {
  const connection = await sendRaw(api.url, bytes)
  if (answersExpected !== undefined) {
    await connection.untilAnswered(answersExpected)
    connection.socket.end()
  }
  const answers = await connection.untilClosed()
  const rows = await api.store.sql<{ key: string }[]>`
    select key from idempotency_keys where tenant_id = ${tenant.id} order by key
  `
  return {
    answers,
    statuses: answers.map(({ status }) => status),
    keys: rows.map(({ key }) => key),
  }
}

const GOOD_CHUNKS = `${SIZE}\r\n${BODY}\r\n0\r\n\r\n`

/** A payment with this line instead of `content-length`, sent exactly as written. */
const framedBy = (line: string, body = BODY) =>
  outer({ 'content-length': undefined }, body).replace('\r\n\r\n', `\r\n${line}\r\n\r\n`)

describe('refuses a request whose end is ambiguous, such as one with', () => {
  // prettier-ignore
  test.each<[what: string, bytes: () => string]>([
    ['a length and chunks', () => outer({ 'transfer-encoding': 'chunked' }, `0\r\n\r\n${inner()}`)],
    ['chunks and a length', () => chunked(`0\r\n\r\n${inner()}`, { 'Content-Length': 5 })],
    ['two lengths', () => framedBy(`content-length: ${BODY.length}\r\ncontent-length: 0`, BODY + inner())],
    ['the same length twice', () => framedBy(`content-length: ${BODY.length}\r\ncontent-length: ${BODY.length}`)],
    ['a list of lengths', () => framedBy(`content-length: ${BODY.length}, ${BODY.length}`)],
    ['a length with a sign', () => framedBy(`content-length: +${BODY.length}`)],
    ['a negative length', () => framedBy('content-length: -1')],
    ['a hexadecimal length', () => framedBy(`content-length: 0x${SIZE}`)],
    ['an empty length', () => framedBy('content-length:')],
    ['a length that is too large for a number', () => framedBy('content-length: 99999999999999999999')],
    ['a space before the colon', () => framedBy(`content-length : ${BODY.length}`)],
    ['a length in a folded line', () => framedBy(`x-folded: a\r\n content-length: ${BODY.length}`)],
    ['a length after a bare LF', () => framedBy(`x-bare: a\ncontent-length: ${BODY.length}`)],
    ['a length after a bare CR', () => framedBy(`x-bare: a\rcontent-length: ${BODY.length}`)],
    ['NUL in a header', () => framedBy(`x-nul: \0\r\ncontent-length: ${BODY.length}`)],
    ['the coding identity', () => chunked(BODY, { 'transfer-encoding': 'identity' })],
    ['a coding in addition to chunked', () => chunked(GOOD_CHUNKS, { 'transfer-encoding': 'gzip, chunked' })],
    ['chunked twice', () => chunked(GOOD_CHUNKS, { 'transfer-encoding': 'chunked, chunked' })],
    ['chunked in two lines', () => framedBy('transfer-encoding: chunked\r\ntransfer-encoding: chunked', GOOD_CHUNKS)],
    ['chunked after a vertical tab', () => chunked(GOOD_CHUNKS, { 'transfer-encoding': '\vchunked' })],
    ['a coding that begins like chunked', () => chunked(GOOD_CHUNKS, { 'transfer-encoding': 'chunkedx' })],
    ['a chunk that is longer than its size', () => chunked(`1\r\n${BODY}\r\n0\r\n\r\n`)],
    ['a chunk of a negative size', () => chunked(`-${SIZE}\r\n${BODY}\r\n0\r\n\r\n`)],
    ['a chunk with a size that is too large for a number', () => chunked(`1${'0'.repeat(16)}${SIZE}\r\n${BODY}\r\n0\r\n\r\n`)],
    ['a chunk of a size with 0x', () => chunked(`0x${SIZE}\r\n${BODY}\r\n0\r\n\r\n`)],
    ['a space after the size of a chunk', () => chunked(`${SIZE} \r\n${BODY}\r\n0\r\n\r\n`)],
    ['chunks between bare LFs', () => chunked(`${SIZE}\n${BODY}\n0\n\n`)],
    ['a bare LF in the extension of a chunk', () => chunked(`${SIZE};a\nb\r\n${BODY}\r\n0\r\n\r\n`)],
    ['no line break after a chunk', () => chunked(`${SIZE}\r\n${BODY}0\r\n\r\n`)],
    ['chunks in HTTP/1.0', () => chunked(GOOD_CHUNKS).replace('HTTP/1.1', 'HTTP/1.0')],
  ])('%s', async (_what, bytes) => {
    const { answers, keys } = await sendAndLook(bytes())

    expect(answers).toEqual([
      expect.objectContaining({
        status: 400,
        headers: expect.objectContaining({ connection: 'close' }),
        json: expect.objectContaining({ type: '/problems/malformed-request' }),
      }),
    ])
    expect(keys).toEqual([])
  })

  test('a chunk that is shorter than its size, so that the next request would be its end', async () => {
    const bytes = chunked(`${SIZE}0\r\n${BODY}\r\n0\r\n\r\n${inner()}`)
    const { statuses, keys } = await sendAndLook(bytes)

    expect(statuses).toEqual([408])
    expect(keys).toEqual([])
  })
})

describe('accepts or refuses an unambiguous request correctly, with', () => {
  const withoutKey = { 'idempotency-key': undefined }
  // prettier-ignore
  test.each<[what: string, bytes: () => string, statuses: number[], keys: string[]]>([
    ['chunks', () => chunked(GOOD_CHUNKS), [202], ['outer']],
    ['chunks, and the coding in capitals', () => chunked(GOOD_CHUNKS, { 'transfer-encoding': 'CHUNKED' }), [202], ['outer']],
    ['a chunk for each byte', () => chunked(`${BODY.split('').map((byte) => `1\r\n${byte}\r\n`).join('')}0\r\n\r\n`), [202], ['outer']],
    ['chunks with extensions', () => chunked(`${SIZE};a=b;c\r\n${BODY}\r\n0;d="e"\r\n\r\n`), [202], ['outer']],
    ['an idempotency key only after its body', () => chunked(GOOD_CHUNKS.replace(/\r\n$/, 'idempotency-key: inner\r\n\r\n'), withoutKey), [400], []],
    ['a request as its body', () => outer({}, inner()), [400], []],
    ['an unexpected body', () => requestBytes({ body: inner() }), [200], []],
    ['more bytes than its length', () => outer({ 'content-length': BODY.length }, `${BODY}no http\r\n\r\n`), [202, 400], ['outer']],
    ['another request after it', () => outer({}, BODY) + inner(), [202, 202], ['inner', 'outer']],
    ['empty lines before it', () => `\r\n\r\n${outer({}, BODY)}`, [202], ['outer']],
    ['an expectation that the client does not wait for', () => outer({ expect: '100-continue' }, BODY), [100, 202], ['outer']],
    ['an upgrade to HTTP/2', () => outer({ connection: 'upgrade, http2-settings', upgrade: 'h2c', 'http2-settings': 'AAMAAABkAAQAAP__' }, BODY), [202], ['outer']],
    ['an upgrade to a web socket', () => requestBytes({ headers: { connection: 'upgrade', upgrade: 'websocket' } }), [200], []],
    ['the whole URL in its first line', () => outer({}, BODY).replace('/v1', 'http://elsewhere/v1'), [202], ['outer']],
    ['HTTP/1.0, and a length', () => outer({ host: undefined }, BODY).replace('HTTP/1.1', 'HTTP/1.0'), [202], ['outer']],
    ['a target that is the server itself', () => requestBytes({ method: 'OPTIONS', path: '*' }), [404], []],
  ])('%s', async (_what, bytes, statuses, keys) => {
    const result = await sendAndLook(bytes(), statuses.length)

    expect(result.statuses).toEqual(statuses)
    expect(result.keys).toEqual(keys)
  })
})

describe('refuses everything that is too large, and writes nothing:', () => {
  const LARGE = 17_000
  // prettier-ignore
  test.each<[what: string, bytes: () => string, status: number, type: string]>([
    ['one header', () => outer({ 'x-large': 'a'.repeat(LARGE) }, BODY), 431, 'headers-too-large'],
    ['a header without an end', () => `${outer({}, BODY).split('\r\n\r\n')[0]}\r\nx-large: ${'a'.repeat(LARGE)}`, 431, 'headers-too-large'],
    ['the name of a header', () => outer({ ['x'.repeat(LARGE)]: 'a' }, BODY), 431, 'headers-too-large'],
    ['more headers than Node accepts', () => framedBy(`${'a:\r\n'.repeat(2_001)}content-length: ${BODY.length}`), 431, 'headers-too-large'],
    ['the URL', () => outer({}, BODY).replace('/v1/payments', `/v1/payments?${'a'.repeat(LARGE)}`), 431, 'headers-too-large'],
    ['headers after the body', () => chunked(GOOD_CHUNKS.replace(/\r\n$/, `x-large: ${'a'.repeat(LARGE)}\r\n\r\n`)), 431, 'headers-too-large'],
    ['the extension of a chunk', () => chunked(`${SIZE};${'a'.repeat(LARGE)}\r\n${BODY}\r\n0\r\n\r\n`), 413, 'body-too-large'],
    ['the body, by its length', () => outer({ 'content-length': 70_000 }, BODY), 413, 'body-too-large'],
    ['the body, in chunks', () => chunked(`${'8000\r\n'.concat(' '.repeat(0x8000), '\r\n').repeat(3)}0\r\n\r\n`), 413, 'body-too-large'],
  ])('%s', async (_what, bytes, status, type) => {
    const { answers, keys } = await sendAndLook(bytes())

    expect(answers.map((answer) => [answer.status, answer.json['type']])).toEqual([
      [status, `/problems/${type}`],
    ])
    expect(keys).toEqual([])
  })
})

const LARGE = ' '.repeat(1_000_000)

interface EarlyAnswer {
  readonly what: string
  readonly headers: Record<string, string | number | undefined>
}

// prettier-ignore
const early: readonly EarlyAnswer[] = [
  { what: 'a body that is too large', headers: { 'content-length': LARGE.length } },
  { what: 'chunks that are too large', headers: { 'content-length': undefined, 'transfer-encoding': 'chunked' } },
]

test.each(early)(
  '$what is answered, even to a client that sends it all first',
  async ({ headers }) => {
    const isChunked = headers['transfer-encoding'] !== undefined
    const body = isChunked ? `${LARGE.length.toString(16)}\r\n${LARGE}\r\n0\r\n\r\n` : LARGE
    const bytes = paymentBytes(tenant, 'large', { headers, body })
    const half = bytes.length / 2
    const acceptedOf = watchAccepted(api.server)
    const connection = await sendRaw(api.url)
    connection.socket.pause()

    connection.socket.write(bytes.slice(0, half))
    const accepted = await until(() => acceptedOf(connection.socket))
    await until(() => accepted.bytesWritten > 0)
    connection.socket.write(bytes.slice(half))
    await until(() => accepted.closed)
    connection.socket.resume()

    const answers = await connection.untilClosed()
    expect(answers).toMatchObject([{ status: 413, headers: { connection: 'close' } }])
  },
)

test('a client that goes on sending is disconnected', async () => {
  const acceptedOf = watchAccepted(api.server)
  const headers = { 'content-length': undefined, 'transfer-encoding': 'chunked' }
  const endless = paymentBytes(tenant, 'endless', { headers, body: '' })
  const connection = await sendRaw(api.url, endless)
  const accepted = await until(() => acceptedOf(connection.socket))

  await until(() => {
    connection.socket.write(`${LARGE.length.toString(16)}\r\n${LARGE}\r\n`)
    return accepted.closed
  })

  const answers = await connection.untilClosed()
  expect(answers.map(({ status }) => status)).toEqual([413])
})
