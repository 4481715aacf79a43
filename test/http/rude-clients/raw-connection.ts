// A connection to the API on which a test sends exact bytes, and which parses the answers.
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
  /** The answers that have arrived whole. */
  answers(): RawAnswer[]
  /** Resolves when this many answers have arrived. Throws when the connection ends before. */
  untilAnswered(count: number): Promise<RawAnswer[]>
  /** Resolves with all answers when the connection has ended. */
  untilClosed(): Promise<RawAnswer[]>
}

/** Opens a connection, sends the bytes and reads everything. */
export async function sendRaw(url: string, bytes = ''): Promise<RawConnection> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const received = createAnswers()
  socket.on('data', (chunk) => received.add(chunk))
  // A reset counts as the end of the connection.
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

/** Splits the received bytes into answers by their `content-length`; a 100 has no body. */
function createAnswers() {
  const answers: RawAnswer[] = []
  let chunks: Buffer[] = []
  let [length, needed] = [0, 1]
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
      if (length < needed) return
      let rest = Buffer.concat(chunks)
      for (;;) {
        const { answer, size } = readAnswer(rest)
        needed = size
        if (answer === undefined) break
        answers.push(answer)
        rest = rest.subarray(size)
      }
      chunks = [rest]
      length = rest.length
    },
  }
}

/** Returns the first answer if it is whole, and its size, or the least size that it can have. */
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
  /** In addition to the headers of every request; undefined removes one of those. */
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

/** The bytes of a payment with this idempotency key. */
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

/** The bytes of a GET request of the tenant. */
export function lookupBytes(tenant: Tenant, path: string): string {
  return requestBytes({ path, headers: { authorization: `Bearer ${tenant.apiKey}` } })
}

/**
 * Returns a function that finds the server's socket of a later connection by the client's socket.
 */
export function watchAccepted(server: Server): (client: Socket) => Socket | undefined {
  const accepted = new Map<number, Socket>()
  server.on('connection', (socket: Socket) => {
    const { remotePort = 0 } = socket
    accepted.set(remotePort, socket)
    socket.once('close', () => accepted.delete(remotePort))
  })
  return (client) => accepted.get((client.address() as AddressInfo).port)
}

/** The number of connections of the server. */
export function connectionsOf(server: Server): Promise<number> {
  return new Promise((resolve, reject) =>
    server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  )
}
