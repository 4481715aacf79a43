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
import { ProblemError } from '../../domain/errors.ts'
import type { ProblemType } from '../../domain/problems.ts'
import { problemAnswer, type Answer } from '../answer.ts'
import type { ApiParts } from '../endpoint.ts'

/** From the first byte of a connection, or of its next request, to the end of the headers. */
const HEADERS_TIMEOUT_MS = 10_000

/** For the headers and the body. The reader of a body is stricter, and answers sooner. */
const REQUEST_TIMEOUT_MS = 20_000

/** How often the two are looked at: a client is at most this much late. */
const CHECK_INTERVAL_MS = 1_000

type RefusingParts = Pick<ApiParts, 'log' | 'settings'>

export interface ServerTimeouts {
  readonly headersTimeoutMs: number
  readonly checkIntervalMs: number
}

/** A server for the app, which does not listen yet. */
export function createApiServer(
  app: RequestListener,
  parts: RefusingParts,
  timeouts: ServerTimeouts = {
    headersTimeoutMs: HEADERS_TIMEOUT_MS,
    checkIntervalMs: CHECK_INTERVAL_MS,
  },
): Server {
  const lastResponses = new WeakMap<Duplex, ServerResponse>()
  const server = createServer(
    {
      headersTimeout: timeouts.headersTimeoutMs,
      requestTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: timeouts.checkIntervalMs,
      // Node's own refusal has no body; the one below has.
      requireHostHeader: false,
    },
    (request, response) => {
      lastResponses.set(request.socket, response)
      if (hasHost(request)) app(request, response)
      else refuse(parts, response, 'malformed-request', 'the Host header is missing')
    },
  )
  server.on('checkExpectation', (_request, response: ServerResponse) =>
    refuse(parts, response, 'expectation-failed', 'an expectation that is not 100-continue'),
  )
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const response = lastResponses.get(socket)
    // What is half sent cannot be taken back, and nothing may be put into the middle of it.
    const isAnswering = response?.headersSent === true && !response.writableFinished
    if (!socket.writable || isAnswering || error.code === 'ECONNRESET') socket.destroy(error)
    else refuseOnSocket(parts, socket, error)
  })
  return server
}

/** HTTP/1.0 knows no Host; later versions demand it (RFC 9112 section 3.2). */
function hasHost({ headers, httpVersion }: IncomingMessage): boolean {
  return headers.host !== undefined || httpVersion === '1.0'
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
  { code = '' }: NodeJS.ErrnoException,
): void {
  const { status, headers, body } = refusal(parts, problemTypeOf(code), code)
  const lines = Object.entries(headers ?? {}).map(([name, value]) => `${name}: ${value}`)
  const head = [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`, ...lines].join('\r\n')
  // Ends the connection: where its next request would begin cannot be told.
  socket.end(`${head}\r\n\r\n${body}`)
}

/** What the parser of Node found wrong, by its code. */
function problemTypeOf(code: string): ProblemType {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'request-timeout'
  if (code === 'HPE_HEADER_OVERFLOW') return 'headers-too-large'
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return 'body-too-large'
  return 'malformed-request'
}

function refusal({ log, settings }: RefusingParts, type: ProblemType, reason: string): Answer {
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
      ...answer.headers,
      'content-length': String(Buffer.byteLength(answer.body)),
      connection: 'close',
    },
  }
}
