// Content type, content encoding, length and malformed HTTP. The service answers all of these with
// a problem:
// `api-server.ts` replaces the bare answers of Node's HTTP parser.
import { type Case, utf8 } from '../draft.ts'
import { casesOf, get, GOOD_PAYMENT, payment, post, raw, type Table } from './requests.ts'

const typed = (...types: readonly string[]) => payment({ headers: { 'content-type': types } })
const coded = (...codings: readonly string[]) =>
  payment({ headers: { 'content-encoding': codings } })

const PAYMENTS = '/v1/payments'
const BODY = JSON.stringify(GOOD_PAYMENT)
const PAY = [
  'POST /v1/payments HTTP/1.1',
  'host: fuzz',
  'authorization: Bearer {{tenant-key}}',
  'idempotency-key: {{new-key}}',
  'content-type: application/json',
] as const
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`
/** A payment with custom framing: the caller adds the remaining headers and the body. */
const framed = (...rest: readonly string[]) => raw(PAYMENTS, ...PAY, ...rest)
const requestWith = (line: string, ...rest: readonly string[]) =>
  raw(PAYMENTS, line, 'host: fuzz', ...rest, '', '')

// prettier-ignore
const table: Table = {
  'unsupported-content-type': {
    'no content type': typed(),
    'an empty content type': typed(''),
    'another parameter': typed('application/json; version=1'),
    'two content types': typed('application/json', 'text/plain'),
    'two content types in one header line': typed('application/json, text/plain'),
    'a body without a content type, where the body is optional': post('/v1/payments/{{held-payment}}/capture', '{}', { headers: { 'content-type': null } }),
    'chunks without a content type, where the body is optional': raw('/v1/payments/x/cancel', 'POST /v1/payments/{{held-payment}}/cancel HTTP/1.1', 'host: fuzz', 'authorization: Bearer {{tenant-key}}', 'idempotency-key: {{new-key}}', 'transfer-encoding: chunked', '', '0', '', ''),
  },
  'unsupported-content-encoding': {
    'gzip': coded('gzip'),
    'identity and gzip': coded('identity, gzip'),
    'gzip and identity, in two headers': coded('gzip', 'identity'),
    'an empty encoding': coded(''),
  },
  'body-too-large': {
    'one byte more than 64 KiB': payment({ body: `${BODY}${' '.repeat(65_537 - BODY.length)}` }),
    'a content-length whose body is never sent': framed('content-length: 99999999999', '', '{'),
    'an endless chunk': framed('transfer-encoding: chunked', '', `20000\r\n${' '.repeat(0x20000)}\r\n`),
    'more than 64 KiB in small chunks': framed('transfer-encoding: chunked', '', chunk(' '.repeat(4_000)).repeat(17)),
    'a refund body that is too large': post('/v1/payments/{{payment}}/refunds', '{{spaces-70000}}'),
    'a delete body that is too large': post('/v1/webhook-endpoints/{{webhook-endpoint}}', '{{spaces-70000}}', { method: 'DELETE' }),
    'an endless chunk extension': framed('transfer-encoding: chunked', '', `1;${'x'.repeat(20_000)}\r\n{\r\n`),
  },
  'malformed-request': {
    'not HTTP': requestWith('nonsense'),
    'another protocol': raw(PAYMENTS, 'SSH-2.0-OpenSSH_9.6', '', ''),
    'the start of TLS': raw(PAYMENTS, '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00FC\u0003\u0003'),
    'the start of HTTP/2': raw(PAYMENTS, 'PRI * HTTP/2.0', '', 'SM', '', ''),
    'no HTTP version': requestWith('GET /v1/payments'),
    'HTTP version 2.0': requestWith('GET /v1/payments HTTP/2.0'),
    'HTTP version 9.9': requestWith('GET /v1/payments HTTP/9.9'),
    'an unknown method': requestWith('PAY /v1/payments HTTP/1.1'),
    'a method in lower case': requestWith('post /v1/payments HTTP/1.1'),
    'a space in the target': requestWith('GET /v1/pay ments HTTP/1.1'),
    'a target without a slash': requestWith('GET v1/payments HTTP/1.1'),
    'UTF-8 in the target': raw('/v1/payments', `GET /v1/${utf8('\u00E9')} HTTP/1.1`, 'host: fuzz', '', ''),
    'a URL with an invalid address': get('http://[/v1/payments'),
    'a URL with an invalid port': get('http://fuzz:99999/v1/payments'),
    'a URL with an invalid host name': get('http://%00/v1/payments'),
    'a URL without a path': get('http://?a'),
    'a URL with another scheme': get('ftp://fuzz/v1/payments'),
    'a file URL': get('file:///etc/passwd'),
    'NUL in the target': requestWith('GET /v1/\0 HTTP/1.1'),
    'no Host header': raw(PAYMENTS, 'GET /v1/payments HTTP/1.1', '', ''),
    'a header without a colon': requestWith('GET /v1/payments HTTP/1.1', 'nonsense'),
    'a space before the colon': requestWith('GET /v1/payments HTTP/1.1', 'x-a : b'),
    'a header without a name': requestWith('GET /v1/payments HTTP/1.1', ': b'),
    'a folded header': requestWith('GET /v1/payments HTTP/1.1', 'x-a: b', ' c'),
    'a bare line feed between headers': raw(PAYMENTS, 'GET /v1/payments HTTP/1.1\nhost: fuzz\nx-a: b\n\n'),
    'a content-length with a plus': framed('content-length: +2', '', '{}'),
    'chunked, but not as the last transfer coding': framed('transfer-encoding: chunked, gzip', '', '0', '', ''),
    'another transfer coding before chunked': framed('transfer-encoding: gzip, chunked', '', '0', '', ''),
    'a transfer coding other than chunked': framed('transfer-encoding: identity', '', BODY),
    'chunked twice in one header line': framed('transfer-encoding: chunked, chunked', '', '0', '', ''),
    'chunked in two header lines': framed('transfer-encoding: chunked', 'transfer-encoding: chunked', '', '0', '', ''),
    'an invalid chunk size': framed('transfer-encoding: chunked', '', 'zz', '{}', '0', '', ''),
    'a negative chunk size': framed('transfer-encoding: chunked', '', '-1', '{}', '0', '', ''),
    'a chunk that is longer than its size': framed('transfer-encoding: chunked', '', '1', '{}', '0', '', ''),
  },
  'headers-too-large': {
    'a thousand headers': requestWith('GET /v1/payments HTTP/1.1', ...Array.from({ length: 1_000 }, (_, index) => `x-long-${index}: 0123456789`)),
    'a target of 17 KiB': requestWith('GET /v1/payments?{{letters-17000}} HTTP/1.1'),
  },
  'expectation-failed': {
    'an unknown expectation': payment({ headers: { expect: 'the-unexpected' } }),
    'an empty expectation': payment({ headers: { expect: '' } }),
  },
}

const slow: Table = {
  'request-timeout': {
    'a body that does not arrive': framed('content-length: 100', '', '{"amount":'),
    'chunks that stop': framed('transfer-encoding: chunked', '', '1', '{', ''),
  },
}

/** Slow cases come first, so that all others run while they wait. */
export const http: readonly Case[] = [...casesOf('HTTP', slow, true), ...casesOf('HTTP', table)]
