// Reads and writes frames of PostgreSQL's protocol, version 3: a type, a length and a body. It
// parses only what the points of a run are named by.
// See https://www.postgresql.org/docs/current/protocol-message-formats.html

export interface Frame {
  /** The letter of the message; empty for the messages that open a connection, which have none. */
  readonly type: string
  /** The whole frame, type and length included. */
  readonly bytes: Buffer
}

const LENGTH_BYTES = 4

/** Splits a stream of chunks into complete frames. */
export class FrameReader {
  #rest: Buffer = Buffer.alloc(0)
  #opening: boolean

  /** @param side the first message of a frontend has no type. */
  constructor(side: 'frontend' | 'backend') {
    this.#opening = side === 'frontend'
  }

  read(chunk: Buffer): Frame[] {
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    const frames: Frame[] = []
    for (;;) {
      const typeBytes = this.#opening ? 0 : 1
      if (bytes.length < typeBytes + LENGTH_BYTES) break
      const length = typeBytes + bytes.readInt32BE(typeBytes)
      if (bytes.length < length) break
      const type = this.#opening ? '' : String.fromCharCode(bytes[0] ?? 0)
      frames.push({ type, bytes: bytes.subarray(0, length) })
      bytes = bytes.subarray(length)
      this.#opening = false
    }
    this.#rest = bytes
    return frames
  }
}

// prettier-ignore
const FRONTEND_NAMES: Readonly<Record<string, string>> = {
  P: 'Parse', B: 'Bind', D: 'Describe', E: 'Execute', S: 'Sync', H: 'Flush', C: 'Close', Q: 'Query',
}

// prettier-ignore
const BACKEND_NAMES: Readonly<Record<string, string>> = {
  '1': 'ParseComplete', '2': 'BindComplete', '3': 'CloseComplete', t: 'ParameterDescription',
  T: 'RowDescription', n: 'NoData', D: 'DataRow', C: 'CommandComplete', I: 'EmptyQueryResponse',
  E: 'ErrorResponse', Z: 'ReadyForQuery', s: 'PortalSuspended',
}

/** The name of a message that belongs to a statement; undefined for all others. */
export function nameOf(side: 'frontend' | 'backend', { type }: Frame): string | undefined {
  return (side === 'frontend' ? FRONTEND_NAMES : BACKEND_NAMES)[type]
}

/** The zero-terminated texts at the beginning of a message. */
export function readTexts({ bytes, type }: Frame, count: number): string[] {
  const texts: string[] = []
  let start = type === '' ? LENGTH_BYTES : 1 + LENGTH_BYTES
  while (texts.length < count && start < bytes.length) {
    const end = bytes.indexOf(0, start)
    if (end < 0) break
    texts.push(bytes.toString('utf8', start, end))
    start = end + 1
  }
  return texts
}

/** The SQLSTATE of an ErrorResponse. */
export function sqlStateOf({ bytes }: Frame): string {
  const fields = bytes.toString('utf8', 1 + LENGTH_BYTES).split('\0')
  return fields.find((field) => field.startsWith('C'))?.slice(1) ?? ''
}

const VERSION_3 = 3 << 16

/** The startup message of a client. */
export function startupMessage(parameters: Readonly<Record<string, string>>): Buffer {
  const texts = [...Object.entries(parameters).flat(), ''].map((text) => `${text}\0`)
  const body = Buffer.from(texts.join(''))
  const head = Buffer.alloc(2 * LENGTH_BYTES)
  head.writeInt32BE(head.length + body.length)
  head.writeInt32BE(VERSION_3, LENGTH_BYTES)
  return Buffer.concat([head, body])
}

/** A statement as text, without parameters. */
export function query(text: string): Buffer {
  return frame('Q', Buffer.from(`${text}\0`))
}

/** Makes the server send the answers that it has, although no Sync has come. */
export function flush(): Buffer {
  return frame('H', Buffer.alloc(0))
}

/** The server's answer to a failed statement. `FATAL` ends the connection. */
export function errorResponse(severity: 'ERROR' | 'FATAL', sqlState: string): Buffer {
  const fields = [
    `S${severity}`,
    `V${severity}`,
    `C${sqlState}`,
    'Minjected by the fault suite',
    '',
  ]
  return frame('E', Buffer.from(fields.map((field) => `${field}\0`).join('')))
}

/** `E`: in a failed transaction. */
export function readyForQuery(status: 'I' | 'E'): Buffer {
  return frame('Z', Buffer.from(status))
}

function frame(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(1 + LENGTH_BYTES)
  head.write(type)
  head.writeInt32BE(LENGTH_BYTES + body.length, 1)
  return Buffer.concat([head, body])
}
