// Relays connections to PostgreSQL, and notes the text of each statement that is executed over them.
import { connect, createServer } from 'node:net'
import { listening } from './listening.ts'

export interface StatementLog {
  /** The database through the relay. */
  readonly url: string
  /** In the order in which they were sent. */
  readonly statements: string[]
  close(): Promise<void>
}

export async function startStatementLog(databaseUrl: string): Promise<StatementLog> {
  const { hostname, port } = new URL(databaseUrl)
  const statements: string[] = []
  const server = createServer((client) => {
    const target = connect(Number(port), hostname)
    const note = createReader(statements)
    for (const [from, to] of [
      [client, target],
      [target, client],
    ] as const) {
      from.on('error', () => {}).on('close', () => to.destroy())
      from.pipe(to)
    }
    client.on('data', note)
  })
  const { port: ownPort, stop } = await listening(server)
  return {
    url: Object.assign(new URL(databaseUrl), { host: `127.0.0.1:${ownPort}` }).href,
    statements,
    close: stop,
  }
}

/** The start-up message. Before it, a client may ask for TLS in a message of the same form. */
const PROTOCOL_3 = 196_608

/**
 * Reads what a client sends: a statement has a text when it is parsed, and then only its name.
 *
 * @see https://www.postgresql.org/docs/current/protocol-message-formats.html
 */
function createReader(statements: string[]): (data: Buffer) => void {
  const texts = new Map<string, string>()
  let isStarted = false
  let rest = Buffer.alloc(0)
  return (data) => {
    rest = Buffer.concat([rest, data])
    for (;;) {
      const head = isStarted ? 1 : 0
      if (rest.length < head + 4) return
      const end = head + rest.readInt32BE(head)
      if (rest.length < end) return
      const type = isStarted ? String.fromCharCode(rest[0] ?? 0) : ''
      const [first = '', second = ''] = rest.toString('utf8', head + 4, end).split('\0')
      if (!isStarted) isStarted = rest.readInt32BE(4) === PROTOCOL_3
      else if (type === 'Q') statements.push(first)
      else if (type === 'P') texts.set(first, second)
      else if (type === 'B') statements.push(texts.get(second) ?? '')
      rest = rest.subarray(end)
    }
  }
}
