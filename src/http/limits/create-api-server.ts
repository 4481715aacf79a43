// The HTTP server in front of the app: how long a client may take, and a problem body for what Node
// would refuse by itself, without one, before the app sees it.
import { randomUUID } from 'node:crypto'
import {
  createServer,
  STATUS_CODES,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { Duplex } from 'node:stream'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import type { ProblemType } from '../../domain/problems/problems.ts'
import { problemAnswer, type TextAnswer } from '../responses/answer.ts'
import type { ApiParts } from '../endpoint.ts'
import { retryAdvice } from '../responses/flavor-headers.ts'
import { limitConnections } from './connections.ts'
import { createPipeline } from './pipelining.ts'

/** From the first byte of a connection, or of its next request, to the end of the headers. */
const HEADERS_TIMEOUT_MS = 10_000

/** From an answer to the first byte of the next request. */
const KEEP_ALIVE_TIMEOUT_MS = 5_000

/** Where Node has a time limit of its own, which knows what to answer, that one comes first. */
const MARGIN_MS = 2_000

/** For the headers and the body. The reader of a body is stricter, and answers sooner. */
const REQUEST_TIMEOUT_MS = 20_000

/** For a client that takes nothing of an answer, beyond the longest that one may wait for its result. */
const SILENCE_MAX_MS = 30_000

/** How often the two are looked at: a client is at most this much late. */
const CHECK_INTERVAL_MS = 1_000

/** For a client that is told on its connection that nothing more is read there, to take that and leave. */
const LINGER_MS = 2_000

type RefusingParts = Pick<ApiParts, 'log' | 'settings'>

export interface ServerTimeouts {
  readonly headersTimeoutMs: number
  readonly checkIntervalMs: number
  readonly silenceMaxMs: number
}

/** A server for the app, which does not listen yet. */
export function createApiServer(
  app: RequestListener,
  parts: RefusingParts,
  timeouts: ServerTimeouts = {
    headersTimeoutMs: HEADERS_TIMEOUT_MS,
    checkIntervalMs: CHECK_INTERVAL_MS,
    silenceMaxMs: SILENCE_MAX_MS,
  },
): Server {
  const begun: Begun = new WeakMap()
  const takeTurn = createPipeline((response) =>
    refuse(parts, response, 'overloaded', 'too many requests ahead of their answers'),
  )
  const server = createServer(
    {
      headersTimeout: timeouts.headersTimeoutMs,
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: timeouts.checkIntervalMs,
      // Node's own refusal has no body; the one below has.
      requireHostHeader: false,
    },
    (request, response) => {
      keepWhileBegun(begun, request.socket, response)
      takeTurn(request, response, () => {
        begin(request, response)
        const fault = faultOf(request)
        if (fault === undefined) app(request, response)
        else refuse(parts, response, 'malformed-request', fault)
      })
    },
  )
  const begin = limitConnections(
    server,
    {
      most: parts.settings.MAX_CONNECTIONS,
      idleMaxMs: KEEP_ALIVE_TIMEOUT_MS + timeouts.headersTimeoutMs + MARGIN_MS,
      checkIntervalMs: timeouts.checkIntervalMs,
    },
    parts.log,
  )
  server.setTimeout(parts.settings.WAIT_MAX_SECONDS * 1_000 + timeouts.silenceMaxMs)
  server.on('checkExpectation', (_request, response: ServerResponse) =>
    refuse(parts, response, 'expectation-failed', 'an expectation that is not 100-continue'),
  )
  refuseTunnels(server, parts, begun)
  refuseBroken(server, parts, begun)
  return server
}

/** The responses of a connection that are not over. */
type Begun = WeakMap<Duplex, Set<ServerResponse>>

function keepWhileBegun(begun: Begun, socket: Duplex, response: ServerResponse): void {
  const responses = begun.get(socket) ?? new Set()
  begun.set(socket, responses.add(response))
  response.once('close', () => responses.delete(response))
}

function refuseTunnels(server: Server, parts: RefusingParts, begun: Begun): void {
  server.on('connect', (_request, socket) => {
    // Node has let go of it: nobody else listens for what goes wrong with it.
    socket.on('error', () => socket.destroy())
    cutOffAfter(socket, server.timeout)
    afterEarlier([...(begun.get(socket) ?? [])], () => {
      if (!socket.writable) socket.destroy()
      else refuseOnSocket(parts, socket, 'route-not-found', 'CONNECT, which is for proxies')
      // Who is not read is not heard to leave.
      socket.resume()
    })
  })
}

/** Refuses what is no request, or comes too slowly to be one. */
function refuseBroken(server: Server, parts: RefusingParts, begun: Begun): void {
  const broken = new WeakSet<Duplex>()
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (!socket.writable || error.code === 'ECONNRESET') {
      socket.destroy(error)
      return
    }
    if (broken.has(socket)) return
    broken.add(socket)
    afterEarlier([...(begun.get(socket) ?? [])], (responses) => {
      // What is half sent cannot be taken back, and nothing may be put into the middle of it.
      const isAnswering = responses.some(({ headersSent }) => headersSent)
      if (!socket.writable || isAnswering) socket.destroy(error)
      else refuseOnSocket(parts, socket, problemTypeOf(error.code), String(error.code))
    })
  })
}

/**
 * Goes on when the requests that arrived whole have their answers: the first answer on a connection is
 * taken for that to the first request, and one of these may be a payment.
 */
function afterEarlier(
  responses: readonly ServerResponse[],
  goOn: (rest: readonly ServerResponse[]) => void,
): void {
  const lastWhole = responses.findLast(({ req }) => req.complete)
  if (lastWhole === undefined) goOn(responses)
  else lastWhole.once('close', () => goOn(responses.filter(({ req }) => !req.complete)))
}

/** What is wrong with a request that Node's parser lets pass, and whoever stands in front may not. */
function faultOf({ headersDistinct, httpVersion, url }: IncomingMessage): string | undefined {
  if (!httpVersion.startsWith('1.')) return 'a version that is not 1.x'
  if (!isTarget(url ?? '')) return 'a target that is none'
  const hosts = headersDistinct['host'] ?? []
  // HTTP/1.0 knows no Host; later versions demand one, and one alone (RFC 9112 section 3.2).
  if (hosts.length > 1) return 'the Host header is repeated'
  if (hosts.length === 0 && httpVersion !== '1.0') return 'the Host header is missing'
  const codings = headersDistinct['transfer-encoding']?.join()
  if (codings === undefined) return undefined
  // It knows no codings either: where its body ends is a guess (RFC 9112 section 6.1).
  if (httpVersion === '1.0') return 'a transfer coding of HTTP/1.0'
  return codings.toLowerCase() === 'chunked' ? undefined : 'a transfer coding beside chunked'
}

/** A path, the asterisk, or a URL of HTTP (RFC 9112 section 3.2): of any other Express finds no path. */
function isTarget(target: string): boolean {
  if (target.startsWith('/') || target === '*') return true
  return /^https?:\/\//i.test(target) && URL.canParse(target)
}

function refuse(
  parts: RefusingParts,
  response: ServerResponse,
  type: ProblemType,
  reason: string,
): void {
  const { status, headers, body } = refusal(parts, type, reason)
  response.writeHead(status, headers).end(body)
}

function refuseOnSocket(
  parts: RefusingParts,
  socket: Duplex,
  type: ProblemType,
  reason: string,
): void {
  const { status, headers, body } = refusal(parts, type, reason)
  const lines = Object.entries(headers ?? {}).map(([name, value]) => `${name}: ${value}`)
  const head = [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`, ...lines].join('\r\n')
  // Ends the connection: where its next request would begin cannot be told.
  socket.end(`${head}\r\n\r\n${body}`)
  // Node no longer looks at it, and one that went on sending would keep it for ever.
  cutOffAfter(socket, LINGER_MS)
}

function cutOffAfter(socket: Duplex, ms: number): void {
  const timer = setTimeout(() => socket.destroy(), ms)
  socket.once('close', () => clearTimeout(timer))
}

/** What the parser of Node found wrong, by its code. */
function problemTypeOf(code: string | undefined): ProblemType {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'request-timeout'
  if (code === 'HPE_HEADER_OVERFLOW') return 'headers-too-large'
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return 'body-too-large'
  return 'malformed-request'
}

function refusal({ log, settings }: RefusingParts, type: ProblemType, reason: string): TextAnswer {
  const answer = problemAnswer(new ProblemError(type), settings.IDEMPOTENCY_FLAVOR)
  const requestId = `req_${randomUUID()}`
  log.info({ request: requestId, status: answer.status, reason }, 'refused before it was read')
  return {
    ...answer,
    headers: {
      date: new Date().toUTCString(),
      'request-id': requestId,
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      ...retryAdvice(settings.IDEMPOTENCY_FLAVOR, answer),
      ...answer.headers,
      'content-length': String(Buffer.byteLength(answer.body)),
      connection: 'close',
    },
  }
}
