// A connection to the API on which a test says every byte itself, and reads what comes back as
// answers.
import { once } from 'node:events'
import { connect, type AddressInfo, type Server, type Socket } from 'node:net'
import { paymentBody } from '../../support/client.ts'
import type { Tenant } from '../../support/service.ts'

export interface RawAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly json: Record<string, unknown>
}

export interface RawConnection {
  readonly socket: Socket
  /** Those that have come whole. */
  answers(): RawAnswer[]
  /** Resolves when so many have come. Throws when the connection ends before. */
  untilAnswered(count: number): Promise<RawAnswer[]>
  /** Resolves with all that have come, when the connection has ended. */
  untilClosed(): Promise<RawAnswer[]>
}

/** Opens a connection that reads everything, and sends these bytes. */
export async function sendRaw(url: string, bytes = ''): Promise<RawConnection> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const received = createAnswers()
  socket.on('data', (chunk) => received.add(chunk))
  // An end by a reset is an end.
  socket.on('error', () => {})
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  await once(socket, 'connect')
  socket.write(bytes)
  const { answers } = received
  return {
    socket,
    answers: () => [...answers],
    async untilAnswered(count) {
      while (answers.length < count) {
        if (socket.closed) throw new Error(`ended after ${answers.length} of ${count} answers`)
        await Promise.race([received.next(), closed])
      }
      return [...answers]
    },
    async untilClosed() {
      await closed
      return [...answers]
    },
  }
}

const HEAD_END = '\r\n\r\n'

/**
 * Takes answers from what comes: each says how long it is, but for those that only tell to go on.
 */
function createAnswers() {
  const answers: RawAnswer[] = []
  let chunks: Buffer[] = []
  let [length, wanted] = [0, 1]
  let arrived = Promise.withResolvers<void>()
  return {
    answers,
    /** Resolves with the next bytes. */
    next: () => arrived.promise,
    add(chunk: Buffer): void {
      arrived.resolve()
      arrived = Promise.withResolvers<void>()
      chunks.push(chunk)
      length += chunk.length
      if (length < wanted) return
      let rest = Buffer.concat(chunks)
      for (;;) {
        const { answer, size } = readAnswer(rest)
        wanted = size
        if (answer === undefined) break
        answers.push(answer)
        rest = rest.subarray(size)
      }
      chunks = [rest]
      length = rest.length
    },
  }
}

/**
 * The answer that the bytes begin with, when it is whole, and how many bytes it has, or must have
 * at least.
 */
function readAnswer(bytes: Buffer): { answer?: RawAnswer; size: number } {
  const headEnd = bytes.indexOf(HEAD_END)
  if (headEnd === -1) return { size: bytes.length + 1 }
  const [line = '', ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n')
  const headers = Object.fromEntries(
    lines.map((header) => {
      const [name = '', ...value] = header.split(': ')
      return [name.toLowerCase(), value.join(': ')]
    }),
  )
  const bodyAt = headEnd + HEAD_END.length
  const size = bodyAt + Number(headers['content-length'] ?? 0)
  if (size > bytes.length) return { size }
  const body = bytes.toString('utf8', bodyAt, size)
  const isJson = headers['content-type']?.includes('json') ?? false
  const json = (isJson ? JSON.parse(body) : {}) as Record<string, unknown>
  return { answer: { status: Number(line.split(' ')[1]), headers, body, json }, size }
}

export interface RawRequest {
  readonly method?: string
  readonly path?: string
  readonly version?: string
  /** Beside those that every request has; undefined leaves one of these out. */
  readonly headers?: Readonly<Record<string, string | number | undefined>>
  readonly body?: string
}

/** The bytes of a request. */
export function requestBytes({
  method = 'GET',
  path = '/healthz',
  version = '1.1',
  headers = {},
  body = '',
}: RawRequest = {}): string {
  const all = { host: 'api', ...(body === '' ? {} : { 'content-length': body.length }), ...headers }
  const lines = Object.entries(all).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}: ${value}`],
  )
  return [`${method} ${path} HTTP/${version}`, ...lines, '', body].join('\r\n')
}

/** The bytes of a payment under that key. */
export function paymentBytes(
  tenant: Tenant,
  key: string,
  { body = JSON.stringify(paymentBody()), ...request }: RawRequest = {},
): string {
  return requestBytes({
    method: 'POST',
    path: '/v1/payments',
    body,
    ...request,
    headers: {
      authorization: `Bearer ${tenant.apiKey}`,
      'idempotency-key': key,
      'content-type': 'application/json',
      ...request.headers,
    },
  })
}

/** The bytes of a look-up by the tenant. */
export function lookupBytes(tenant: Tenant, path: string): string {
  return requestBytes({ path, headers: { authorization: `Bearer ${tenant.apiKey}` } })
}

/** From now on finds the server's side of a connection by its client's, until it is closed. */
export function watchAccepted(server: Server): (client: Socket) => Socket | undefined {
  const accepted = new Map<number, Socket>()
  server.on('connection', (socket: Socket) => {
    const { remotePort = 0 } = socket
    accepted.set(remotePort, socket)
    socket.once('close', () => accepted.delete(remotePort))
  })
  return (client) => accepted.get((client.address() as AddressInfo).port)
}

/** How many connections the server has. */
export function connectionsOf(server: Server): Promise<number> {
  return new Promise((resolve, reject) =>
    server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  )
}

const POLL_MS = 5

/** Resolves once it holds. Never, when it never does: the test's own limit says so. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, POLL_MS))
}
