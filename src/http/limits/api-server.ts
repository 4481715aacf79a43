// Creates the HTTP server in front of the app. It sets Node's limits for clients, and answers with a
// problem where Node would refuse a request without a body before the app sees it.
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
import type { ServiceParts } from '../endpoint.ts'
import { retryAdvice } from '../responses/added-headers.ts'
import { BODY_TIMEOUT_MS } from '../requests/read-body.ts'

/**
 * Keeps a limit above another one. Node closes an idle connection a second after its limit, and
 * answers a slow client before we disconnect it.
 */
const MARGIN_MS = 2_000

/**
 * For a client that reads nothing, added to the longest time that a request may wait for its
 * result.
 */
export const SILENCE_MAX_MS = 30_000

/** The interval between two checks of the limits: a client may exceed a limit by this much. */
const CHECK_INTERVAL_MS = 1_000

/**
 * For a client to read the final answer on a connection that is no longer read, and to disconnect.
 */
const LINGER_MS = 2_000

type RefusingParts = Pick<ServiceParts, 'log' | 'settings'>

export interface ServerTimeouts {
  readonly checkIntervalMs: number
  readonly silenceMaxMs: number
}

/** Creates the server, which does not listen yet. */
export function createApiServer(
  app: RequestListener,
  parts: RefusingParts,
  timeouts: ServerTimeouts = {
    checkIntervalMs: CHECK_INTERVAL_MS,
    silenceMaxMs: SILENCE_MAX_MS,
  },
): Server {
  const unfinished: Unfinished = new WeakMap()
  const keepAliveMs = parts.settings.HTTP_KEEP_ALIVE_SECONDS * 1_000
  // For a new connection Node counts the time before the first byte, too. Load balancers open
  // connections ahead, and use them as late as those that they keep.
  const headersTimeoutMs = keepAliveMs + MARGIN_MS
  const server = createServer(
    {
      headersTimeout: headersTimeoutMs,
      keepAliveTimeout: keepAliveMs,
      // `readBody` has a shorter limit and answers sooner.
      requestTimeout: headersTimeoutMs + BODY_TIMEOUT_MS + MARGIN_MS,
      connectionsCheckingInterval: timeouts.checkIntervalMs,
      // Node would refuse without a body. `faultOf` refuses with a problem.
      requireHostHeader: false,
    },
    (request, response) => {
      const { socket } = request
      if (socket.timeout !== server.timeout) socket.setTimeout(server.timeout)
      inTurn(unfinished, response, () => {
        const fault = faultOf(request)
        if (fault === undefined) app(request, response)
        else refuse(parts, response, 'malformed-request', fault)
      })
    },
  )
  server.maxConnections = parts.settings.MAX_CONNECTIONS
  server.on('drop', logAtIntervals(parts.log))
  server.setTimeout(parts.settings.WAIT_MAX_SECONDS * 1_000 + timeouts.silenceMaxMs)
  // This limit is for a client that does not read. It begins with the first request.
  server.on('connection', (socket) => socket.setTimeout(headersTimeoutMs + MARGIN_MS))
  server.on('checkExpectation', (_request, response: ServerResponse) =>
    refuse(parts, response, 'expectation-failed', 'an expectation other than 100-continue'),
  )
  refuseBroken(server, parts, unfinished)
  return server
}

/** One line for all connections that are refused in this time: there may be thousands. */
const LOG_INTERVAL_MS = 1_000

function logAtIntervals(log: RefusingParts['log']): () => void {
  let loggedAtMs = -Infinity
  return () => {
    if (performance.now() - loggedAtMs < LOG_INTERVAL_MS) return
    loggedAtMs = performance.now()
    log.warn('too many connections; new ones are closed')
  }
}

/** The responses of each connection that are not closed yet, in their order. */
type Unfinished = WeakMap<Duplex, Set<ServerResponse>>

/** How many requests may wait behind the current one: more than honest clients send ahead. */
export const AHEAD_MAX = 100

/**
 * Runs the work of a request when the client has read the answers to the earlier requests on its
 * connection, as HTTP requires for requests that change something (RFC 9112 section 9.3.2). Skips it
 * when the connection ends before. Ends the connection when too many are waiting.
 */
function inTurn(unfinished: Unfinished, response: ServerResponse, work: () => void): void {
  const { socket } = response.req
  const responses = unfinished.get(socket) ?? new Set()
  const [last] = [...responses].slice(-1)
  unfinished.set(socket, responses.add(response))
  response.once('close', () => responses.delete(response))
  if (responses.size > AHEAD_MAX + 1) socket.destroy()
  else if (last === undefined) work()
  else last.once('close', () => socket.writable && work())
}

/** Refuses requests that Node cannot parse, and requests that arrive too slowly. */
function refuseBroken(server: Server, parts: RefusingParts, unfinished: Unfinished): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (!socket.writable || error.code === 'ECONNRESET') {
      socket.destroy(error)
      return
    }
    afterEarlier([...(unfinished.get(socket) ?? [])], (responses) => {
      // An answer that is partly sent cannot be taken back, and nothing may be inserted into it.
      const isAnswering = responses.some(({ headersSent }) => headersSent)
      if (!socket.writable || isAnswering) socket.destroy(error)
      else refuseOnSocket(parts, socket, problemTypeOf(error.code), String(error.code))
    })
  })
}

/**
 * Continues after the requests that arrived whole have their answers. A client matches answers to
 * requests by their order, so a refusal sent too early would look like the answer to a payment.
 */
function afterEarlier(
  responses: readonly ServerResponse[],
  goOn: (rest: readonly ServerResponse[]) => void,
): void {
  const lastWhole = responses.findLast(({ req }) => req.complete)
  if (lastWhole === undefined) goOn(responses)
  else lastWhole.once('close', () => goOn(responses.filter(({ req }) => !req.complete)))
}

/** Finds faults that Node's parser accepts but that a proxy in front may interpret differently. */
function faultOf({ headersDistinct, httpVersion, url }: IncomingMessage): string | undefined {
  if (!httpVersion.startsWith('1.')) return 'an HTTP version other than 1.x'
  if (!isTarget(url ?? '')) return 'an invalid request target'
  const hosts = headersDistinct['host'] ?? []
  // HTTP/1.0 has no Host header; later versions require exactly one (RFC 9112 section 3.2).
  if (hosts.length > 1) return 'the Host header is repeated'
  if (hosts.length === 0 && httpVersion !== '1.0') return 'the Host header is missing'
  const codings = headersDistinct['transfer-encoding']?.join()
  if (codings === undefined) return undefined
  // HTTP/1.0 has no transfer codings either, so the end of the body is a guess (RFC 9112 section
  // 6.1).
  if (httpVersion === '1.0') return 'a transfer coding with HTTP/1.0'
  return codings.toLowerCase() === 'chunked' ? undefined : 'a transfer coding other than chunked'
}

/**
 * A path, the asterisk or an HTTP URL (RFC 9112 section 3.2). Express finds no path in other
 * targets.
 */
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
  // Ends the connection: the beginning of a next request could not be determined.
  socket.end(`${head}\r\n\r\n${body}`)
  // Node no longer times this socket out, and a client that keeps sending would keep it open
  // forever.
  const timer = setTimeout(() => socket.destroy(), LINGER_MS)
  socket.once('close', () => clearTimeout(timer))
}

/** Maps an error code of Node's parser to a problem. */
function problemTypeOf(code: string | undefined): ProblemType {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'request-timeout'
  if (code === 'HPE_HEADER_OVERFLOW') return 'headers-too-large'
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return 'body-too-large'
  return 'malformed-request'
}

function refusal({ log, settings }: RefusingParts, type: ProblemType, reason: string): TextAnswer {
  const answer = problemAnswer(new ProblemError(type), settings.IDEMPOTENCY_FLAVOR)
  const requestId = `req_${randomUUID()}`
  log.info(
    { request: requestId, status: answer.status, reason },
    'request refused before it was read',
  )
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
