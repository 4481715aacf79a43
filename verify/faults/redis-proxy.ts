// Splits a stream of Redis's protocol, version 3, into whole values: a command of a client, or a reply.
// See https://redis.io/docs/latest/develop/reference/protocol-spec/
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import type { Place, Role } from './points.ts'
import type { Action, Watch } from './watch.ts'

const LINE_END = '\r\n'
/** Their length, and so many bytes, follow the type. Null has the length -1. */
const TEXTS = '$=!'
/** So many values follow each member that is counted. */
const MEMBERS: Readonly<Record<string, number>> = { '*': 1, '~': 1, '>': 1, '%': 2 }

export class RespReader {
  #rest: Buffer = Buffer.alloc(0)

  /** The values that are whole now, in order. The rest waits for more. */
  read(chunk: Buffer): Buffer[] {
    this.#rest = Buffer.concat([this.#rest, chunk])
    const values: Buffer[] = []
    for (;;) {
      const end = endOfValue(this.#rest, 0)
      if (end === undefined) return values
      values.push(this.#rest.subarray(0, end))
      this.#rest = this.#rest.subarray(end)
    }
  }
}

/** Returns undefined when the value that begins there is not whole. */
function endOfValue(bytes: Buffer, from: number): number | undefined {
  const lineEnd = bytes.indexOf(LINE_END, from)
  if (lineEnd < 0) return undefined
  const type = bytes.toString('latin1', from, from + 1)
  const count = Number(bytes.toString('latin1', from + 1, lineEnd))
  let end: number | undefined = lineEnd + LINE_END.length
  if (TEXTS.includes(type)) {
    if (count >= 0) end += count + LINE_END.length
    return end <= bytes.length ? end : undefined
  }
  const members = type in MEMBERS ? count * (MEMBERS[type] ?? 0) : 0
  for (let member = 0; member < members && end !== undefined; member += 1) {
    end = endOfValue(bytes, end)
  }
  return end
}

/** The verb of a command, in lower case, and its first argument. */
export function readCommand(command: Buffer): { verb: string; name: string } {
  const [, , verb = '', , name = ''] = command.toString('latin1').split(LINE_END)
  return { verb: verb.toLowerCase(), name }
}

/** The commands about copies. */
const VERBS = ['get', 'set']
/** The process probes Redis at an interval, by a name that ends like this. */
const PROBE = /probe$/

export class RedisProxy {
  readonly #server: Server
  readonly #links = new Set<RedisLink>()
  #hasProbed = false
  #reads = 0

  private constructor(server: Server) {
    this.#server = server
  }

  /** @param redisPort the port of Redis on this machine. */
  static async open(role: Role, redisPort: number, watch: Watch): Promise<RedisProxy> {
    const server = createServer()
    const proxy = new RedisProxy(server)
    server.on('connection', (client: Socket) => {
      const onProbed = () => void (proxy.#hasProbed = true)
      const onRead = () => void (proxy.#reads += 1)
      const link = new RedisLink({ role, client, redisPort, watch, onProbed, onRead })
      proxy.#links.add(link)
      client.once('close', () => proxy.#links.delete(link))
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return proxy
  }

  get url(): string {
    return `redis://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Whether the process has heard from Redis: it asks it from then on. */
  get hasProbed(): boolean {
    return this.#hasProbed
  }

  /** How many copies the process has asked for. */
  get reads(): number {
    return this.#reads
  }

  /** Ends the stalled connections, so that a process that waits on one notices. */
  dropStalled(): void {
    for (const link of this.#links) if (link.isStalled) link.end()
  }

  async close(): Promise<void> {
    for (const link of this.#links) link.end()
    this.#server.close()
    if (this.#server.listening) await once(this.#server, 'close')
  }
}

interface LinkOptions {
  readonly role: Role
  readonly client: Socket
  readonly redisPort: number
  readonly watch: Watch
  readonly onProbed: () => void
  readonly onRead: () => void
}

/** One connection. Redis answers in order. */
class RedisLink {
  readonly #options: LinkOptions
  readonly #redis: Socket
  /** What Redis has not answered yet, oldest first; undefined when it is not about a copy. */
  readonly #pending: { readonly name: string | undefined; readonly isProbe: boolean }[] = []
  #state: 'open' | 'stalled' | 'over' = 'open'
  /** Values that arrived while the link waits, to be passed on when it goes on. */
  #buffered: (() => void)[] | undefined

  constructor(options: LinkOptions) {
    this.#options = options
    const { client, redisPort } = options
    this.#redis = connect(redisPort, '127.0.0.1')
    const [commands, replies] = [new RespReader(), new RespReader()]
    for (const socket of [client, this.#redis]) socket.setNoDelay().on('error', () => {})
    client.on('data', (chunk) => {
      for (const command of commands.read(chunk)) this.#passOrBuffer(() => this.#send(command))
    })
    this.#redis.on('data', (chunk) => {
      for (const reply of replies.read(chunk)) this.#passOrBuffer(() => this.#answer(reply))
    })
    client.on('close', () => this.#redis.end())
    this.#redis.on('close', () => {
      if (this.#state === 'open') this.#options.client.destroy()
    })
  }

  get isStalled(): boolean {
    return this.#state === 'stalled'
  }

  end(): void {
    this.#state = 'over'
    this.#options.client.destroy()
    // What the process has sent still arrives.
    this.#redis.end()
  }

  #passOrBuffer(pass: () => void): void {
    if (this.#state !== 'open') return
    if (this.#buffered === undefined) pass()
    else this.#buffered.push(pass)
  }

  #send(command: Buffer): void {
    const { verb, name } = readCommand(command)
    const isProbe = PROBE.test(name)
    const named = VERBS.includes(verb) && !isProbe ? `redis-${verb}` : undefined
    const pass = () => {
      this.#pending.push({ name: named, isProbe })
      this.#redis.write(command)
    }
    if (named === undefined) return pass()
    if (verb === 'get') this.#options.onRead()
    const place = { name: named, message: 'command', direction: 'out' } as const
    this.#at({ ...place, moment: 'before' }, () => {
      pass()
      this.#at({ ...place, moment: 'after' }, () => {})
    })
  }

  #answer(reply: Buffer): void {
    const { client, onProbed } = this.#options
    const { name, isProbe } = this.#pending.shift() ?? {}
    const pass = () => {
      client.write(reply)
      if (isProbe === true) onProbed()
    }
    if (name === undefined) return pass()
    this.#at({ name, message: 'reply', direction: 'in', moment: 'before' }, pass)
  }

  #at(place: Omit<Place, 'role' | 'peer'>, pass: () => void): void {
    const { role, watch } = this.#options
    this.#apply(watch.reached({ ...place, role, peer: 'redis' }), pass)
  }

  #apply(action: Action, pass: () => void): void {
    switch (action.do) {
      case 'pass':
        return pass()
      case 'wait':
        return void this.#wait(action.until, pass)
      case 'stall':
        this.#state = 'stalled'
        return
      case 'reset':
        this.#options.client.resetAndDestroy()
        return this.end()
      case 'end':
        return this.end()
      default:
        throw new Error(`a message to Redis cannot be answered with "${action.do}"`)
    }
  }

  /** Holds back both directions until it is known how to go on. */
  async #wait(until: Promise<'pass' | 'end'>, pass: () => void): Promise<void> {
    this.#buffered = []
    const how = await until.catch(() => 'end')
    const buffered = [pass, ...this.#buffered]
    this.#buffered = undefined
    if (how === 'end') this.end()
    else for (const next of buffered) this.#passOrBuffer(next)
  }
}
