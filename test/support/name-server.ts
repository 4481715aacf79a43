// A real name server for tests: it answers over UDP with the records that the test sets, or not at all.
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { NameError, type Resolve } from '../../src/names/resolver.ts'
import { decode, encode, type Answer, type Packet } from 'dns-packet'

/** For tests that use addresses only. */
export const noNames: Resolve = (hostname) => Promise.reject(new NameError(hostname))

export interface NameServer {
  /** `127.0.0.1:<port>`. */
  readonly address: string
  /** The questions so far, such as `A shop.test`. */
  readonly asked: readonly string[]
  /** The addresses of a name. A name without any does not exist. */
  set(name: string, addresses: readonly string[], ttl?: number): void
  /** Questions about these names get no answer. */
  readonly silentNames: Set<string>
  /** Kinds of records that get no answer. */
  silent: ReadonlySet<'A' | 'AAAA'>
  stop(): Promise<void>
}

export async function startNameServer(): Promise<NameServer> {
  const socket = createSocket('udp4')
  const records = new Map<string, Answer[]>()
  const asked: string[] = []
  const server: NameServer = {
    get address() {
      return `127.0.0.1:${socket.address().port}`
    },
    asked,
    silentNames: new Set(),
    silent: new Set(),
    set(name, addresses, ttl = 60) {
      const answers = addresses.map((data): Answer => {
        return { type: data.includes(':') ? 'AAAA' : 'A', name, data, ttl }
      })
      records.set(name, answers)
    },
    async stop() {
      socket.close()
      await once(socket, 'close')
    },
  }
  socket.on('message', (message, from) => {
    const { id, questions = [] } = decode(message)
    const [question] = questions
    if (question === undefined) return
    const { type, name } = question
    asked.push(`${type} ${name}`)
    if (server.silent.has(type as 'A') || server.silentNames.has(name.toLowerCase())) return
    const known = records.get(name.toLowerCase())
    const answers = (known ?? []).filter((record) => record.type === type)
    const NOT_FOUND = 3
    const reply: Packet = {
      type: 'response',
      id: id ?? 0,
      flags: 0x8180 | (known === undefined ? NOT_FOUND : 0),
      questions: [question],
      answers,
    }
    socket.send(encode(reply), from.port, from.address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return server
}
