// A proxy between one API process and Redis. It splits the streams into commands and replies, and calls
// the watch before and after each command about a copy of an answer, and before its reply.
import type { Socket } from 'node:net'
import type { Place } from '../../../verify/faults/points.ts'
import type { Watch } from '../../../verify/faults/watch.ts'
import { Link, Links } from '../../../verify/faults/links.ts'

const LINE_END = '\r\n'
/** Their length, and so many bytes, follow the type. Null has the length -1. */
const TEXTS = '$=!'
/** So many values follow each member that is counted. */
const MEMBERS: Readonly<Record<string, number>> = { '*': 1, '~': 1, '>': 1, '%': 2 }

/**
 * Splits a stream of Redis's protocol, version 3, into whole values: a command of a client, or a reply.
 * See https://redis.io/docs/latest/develop/reference/protocol-spec/
 */
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

export type RedisProxy = Awaited<ReturnType<typeof openRedisProxy>>

/** @param redisPort the port of Redis on this machine. */
export async function openRedisProxy(redisPort: number, watch: Watch) {
  const seen: Seen = { hasProbed: false, reads: 0 }
  const links = await Links.open((client) => new RedisLink({ client, redisPort, watch, seen }))
  return {
    settings: { REDIS_URL: `redis://127.0.0.1:${links.port}` },
    seen: seen as Readonly<Seen>,
    dropStalled: () => links.dropStalled(),
    close: () => links.close(),
  }
}

interface Seen {
  /** Whether the process has heard from Redis: it asks it from then on. */
  hasProbed: boolean
  /** How many copies the process has asked for. */
  reads: number
}

interface LinkOptions {
  readonly client: Socket
  readonly redisPort: number
  readonly watch: Watch
  readonly seen: Seen
}

/** One connection. Redis answers in order. */
class RedisLink extends Link {
  readonly #options: LinkOptions
  /** What Redis has not answered yet, oldest first; undefined when it is not about a copy. */
  readonly #pending: { readonly name: string | undefined; readonly isProbe: boolean }[] = []

  constructor(options: LinkOptions) {
    super(options.client, options.redisPort)
    this.#options = options
    const [commands, replies] = [new RespReader(), new RespReader()]
    this.client.on('data', (chunk) => {
      for (const command of commands.read(chunk)) this.passOrBuffer(() => this.#send(command))
    })
    this.server.on('data', (chunk) => {
      for (const reply of replies.read(chunk)) this.passOrBuffer(() => this.#answer(reply))
    })
    this.client.on('close', () => this.server.end())
    this.server.on('close', () => {
      if (this.state === 'open') this.client.destroy()
    })
  }

  #send(command: Buffer): void {
    const { verb, name } = readCommand(command)
    const isProbe = PROBE.test(name)
    const named = VERBS.includes(verb) && !isProbe ? `redis-${verb}` : undefined
    const pass = () => {
      this.#pending.push({ name: named, isProbe })
      this.server.write(command)
    }
    if (named === undefined) return pass()
    if (verb === 'get') this.#options.seen.reads += 1
    const place = { name: named, message: 'command', direction: 'out' } as const
    this.#at({ ...place, moment: 'before' }, () => {
      pass()
      this.#at({ ...place, moment: 'after' }, () => {})
    })
  }

  #answer(reply: Buffer): void {
    const { name, isProbe } = this.#pending.shift() ?? {}
    const pass = () => {
      this.client.write(reply)
      if (isProbe === true) this.#options.seen.hasProbed = true
    }
    if (name === undefined) return pass()
    this.#at({ name, message: 'reply', direction: 'in', moment: 'before' }, pass)
  }

  #at(place: Omit<Place, 'role' | 'peer'>, pass: () => void): void {
    const action = this.#options.watch.reached({ ...place, role: 'api', peer: 'extra' })
    if (action.do === 'wait') void this.wait(action, pass)
    else if (this.follow(action)) pass()
  }
}
