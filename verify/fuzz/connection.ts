// A connection to the API that sends raw bytes and parses the answers. HTTP clients do not send
// malformed requests.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type Draft, type Names, renderRequest } from './draft.ts'

export interface Reply {
  readonly status: number
  /** The header fields. */
  readonly headers: Headers
  readonly body: string
  readonly ms: number
}

/**
 * Later answers count as missing: a refusal takes milliseconds, and the longest wait is shorter
 * than this.
 */
const ANSWER_LIMIT_MS = 15_000

const HEAD_END = '\r\n\r\n'

/** There was no answer, more than one, or one that is not HTTP. */
export class NoReplyError extends Error {
  override name = 'NoReplyError'
}

/** The result of a request: its answer, or the reason why there is none. */
export type Result = Reply | NoReplyError

export class Connection {
  readonly #socket: Socket
  #received: Buffer = Buffer.alloc(0)
  #wake: (() => void) | undefined
  #isEnded = false

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.setNoDelay(true)
    socket.on('data', (chunk: Buffer) => {
      this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk])
      this.#wake?.()
    })
    // `close` follows every error.
    socket.on('error', () => {})
    for (const end of ['end', 'close']) {
      socket.on(end, () => {
        this.#isEnded = true
        this.#wake?.()
      })
    }
  }

  static async open(url: string): Promise<Connection> {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    await once(socket, 'connect')
    return new Connection(socket)
  }

  /** Whether the connection can send another request. */
  get isOpen(): boolean {
    return !this.#isEnded && !this.#socket.destroyed
  }

  close(): void {
    this.#socket.destroy()
  }

  /**
   * Sends a request and reads its answer. There is none if it does not arrive in time, or if bytes
   * arrive that do not belong to it.
   */
  async exchange(method: string, bytes: Buffer): Promise<Result> {
    const startedAt = performance.now()
    this.#socket.write(bytes)
    const limit = setTimeout(() => this.#socket.destroy(), ANSWER_LIMIT_MS)
    try {
      const { status, headers } = await this.#readHead()
      const body = await this.#readBody(method, status, headers)
      if (this.#received.length > 0) throw new NoReplyError('more than one answer arrived')
      if (/\bclose\b/i.test(headers.get('connection') ?? '')) this.close()
      return { status, headers, body, ms: performance.now() - startedAt }
    } catch (error) {
      this.close()
      const ms = Math.round(performance.now() - startedAt)
      if (error instanceof NoReplyError) return new NoReplyError(`${error.message} (${ms} ms)`)
      throw error
    } finally {
      clearTimeout(limit)
    }
  }

  async #readHead(): Promise<{ status: number; headers: Headers }> {
    for (;;) {
      const end = await this.#waitFor(() => {
        const at = this.#received.indexOf(HEAD_END)
        return at === -1 ? undefined : at
      })
      const [line = '', ...fields] = this.#consume(end + HEAD_END.length)
        .toString('latin1')
        .slice(0, -HEAD_END.length)
        .split('\r\n')
      const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(line) ?? []
      if (status === undefined) throw new NoReplyError('the answer is not HTTP')
      // Skips interim answers, for example 100 Continue.
      if (!status.startsWith('1')) return { status: Number(status), headers: toHeaders(fields) }
    }
  }

  async #readBody(method: string, status: number, headers: Headers): Promise<string> {
    if (method === 'HEAD' || status === 204 || status === 304) return ''
    const length = headers.get('content-length')
    if (length === null || headers.has('transfer-encoding')) {
      throw new NoReplyError('the answer has no content-length')
    }
    const bytes = Number(length)
    await this.#waitFor(() => (this.#received.length >= bytes ? true : undefined))
    return this.#consume(bytes).toString()
  }

  #consume(bytes: number): Buffer {
    const consumed = this.#received.subarray(0, bytes)
    this.#received = this.#received.subarray(bytes)
    return consumed
  }

  async #waitFor<Value>(find: () => Value | undefined): Promise<Value> {
    for (;;) {
      const found = find()
      if (found !== undefined) return found
      if (this.#isEnded) throw new NoReplyError('no answer, or an incomplete one')
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }
}

function toHeaders(fields: readonly string[]): Headers {
  return new Headers(
    fields.map((field): [string, string] => {
      const colon = field.indexOf(':')
      return [field.slice(0, colon), field.slice(colon + 1).trim()]
    }),
  )
}

/** Enough to keep the API busy, and far below its limit of connections. */
const CONNECTIONS = 16

export interface Target {
  readonly url: string
  readonly names: Names
}

/**
 * Sends all requests. Returns the results in the same order.
 *
 * @param onProgress how many are done.
 * @throws Error if the API refuses a connection.
 */
export async function sendAll(
  target: Target,
  drafts: readonly Draft[],
  onProgress: (done: number) => void = () => {},
  signal?: AbortSignal,
): Promise<Result[]> {
  const results: Result[] = []
  let [next, done] = [0, 0]
  const sendSome = async () => {
    let connection: Connection | undefined
    try {
      for (let index = next++; index < drafts.length; index = next++) {
        signal?.throwIfAborted()
        const draft = drafts[index] as Draft
        if (connection?.isOpen !== true) connection = await Connection.open(target.url)
        const bytes = renderRequest(draft, target.names)
        results[index] = await connection.exchange(draft.method, bytes)
        onProgress((done += 1))
      }
    } finally {
      connection?.close()
    }
  }
  const connections = Math.min(CONNECTIONS, drafts.length)
  await Promise.all(Array.from({ length: connections }, sendSome))
  return results
}
