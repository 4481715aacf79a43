// The connection to Redis. Each command has a short time limit. After a failure no command is sent until
// Redis answers again in time, so that a Redis that is paused, lost or loading delays requests once.
import type { Logger } from 'pino'
import { createClient, ErrorReply } from 'redis'
import type { AnswersObserver, LookUpResult } from '../../src/answers/answers.ts'

const PROBE_INTERVAL_MS = 1_000
const CONNECT_TIMEOUT_MS = 2_000
/** Longer than several probes: a connection that is silent for this time is closed. */
const SILENCE_MAX_MS = 5_000
const RECONNECT_DELAY_MAX_MS = 1_000
/** Beyond it commands fail at once. */
const COMMANDS_MAX = 1_000

interface Found {
  readonly result: LookUpResult
  readonly value?: string
}

interface SetOptions {
  readonly untilMs: number
  readonly onlyIfNew: boolean
}

export interface RedisLink {
  isUsable(): boolean
  /** Never throws. */
  get(name: string): Promise<Found>
  /** Never throws. */
  set(name: string, value: string, options: SetOptions): Promise<void>
  close(): void
}

export interface RedisOptions {
  /** Its password is never logged. */
  readonly url: string
  readonly prefix: string
  readonly timeoutMs: number
  readonly log: Logger
  readonly observe: AnswersObserver
}

/** Connects in the background, and again when the connection is lost. */
export function connectRedis({ url, prefix, timeoutMs, log, observe }: RedisOptions): RedisLink {
  const client = openClient(url)
  // Undefined until the first answer, or the first failure.
  let state: boolean | undefined
  let isClosed = false
  const isUsable = () => state === true && !isClosed
  const turn = (usable: boolean, error?: unknown): void => {
    if (usable === state || isClosed) return
    state = usable
    observe.turnedRedis(!usable)
    if (usable) log.info('Redis is used for answers')
    else
      log.warn(
        { err: withoutArguments(error) },
        'Redis is not used until it answers again; requests are served without it',
      )
  }
  const timed = async <Value>(command: 'get' | 'set', sent: Promise<Value>): Promise<Value> => {
    const startedAt = performance.now()
    try {
      return await within(timeoutMs, sent)
    } catch (error) {
      // A Redis that is full, or a replica, refuses to write, and still answers reads.
      const refusesToWrite = command === 'set' && error instanceof ErrorReply
      if (!refusesToWrite) turn(false, error)
      throw error
    } finally {
      observe.calledRedis(command, (performance.now() - startedAt) / 1_000)
    }
  }
  const stopProbing = probe(client, { name: `${prefix}probe`, timeoutMs, turn })
  client.on('error', (error) => turn(false, error))
  client.connect().catch(() => {})

  return {
    isUsable,
    async get(name) {
      if (!isUsable()) return { result: 'skipped' }
      try {
        const value = await timed('get', client.get(prefix + name))
        return value === null ? { result: 'miss' } : { result: 'hit', value }
      } catch {
        return { result: 'error' }
      }
    },
    async set(name, value, { untilMs, onlyIfNew }) {
      if (!isUsable()) return
      const expiration = { type: 'PXAT', value: untilMs } as const
      const options = onlyIfNew ? { expiration, condition: 'NX' as const } : { expiration }
      await timed('set', client.set(prefix + name, value, options)).catch(observe.lostCopy)
    },
    close() {
      isClosed = true
      stopProbing()
      client.destroy()
    },
  }
}

type Client = ReturnType<typeof openClient>

/**
 * The client's own time limit ends when a command is written, so that it would not notice a server
 * that does not answer (`@redis/client` 6.3.1, `commands-queue.js`).
 */
function openClient(url: string) {
  const client = createClient({
    url,
    disableOfflineQueue: true,
    commandsQueueMaxLength: COMMANDS_MAX,
    maintNotifications: 'disabled',
    socket: {
      connectTimeout: CONNECT_TIMEOUT_MS,
      socketTimeout: SILENCE_MAX_MS,
      reconnectStrategy: (retries) => Math.min(50 * 2 ** retries, RECONNECT_DELAY_MAX_MS),
    },
  })
  client.unref()
  return client
}

interface Probe {
  readonly name: string
  readonly timeoutMs: number
  readonly turn: (usable: boolean, error?: unknown) => void
}

/**
 * Reads a name that does not exist, at an interval. One at a time: a probe that is never answered ends
 * with its connection, which then is silent for too long. Returns a function that ends it.
 */
function probe(client: Client, { name, timeoutMs, turn }: Probe): () => void {
  let isWaiting = false
  const read = async (): Promise<void> => {
    if (isWaiting || !client.isReady) return
    isWaiting = true
    const answer = client.get(name)
    try {
      await within(timeoutMs, answer)
      turn(true)
    } catch (error) {
      turn(false, error)
      await answer.catch(() => {})
    } finally {
      isWaiting = false
    }
  }
  client.on('ready', () => void read())
  const timer = setInterval(() => void read(), PROBE_INTERVAL_MS).unref()
  return () => clearInterval(timer)
}

/** A server that does not know a command repeats its arguments. Those of HELLO contain the password. */
function withoutArguments(error: unknown): unknown {
  if (!(error instanceof ErrorReply)) return error
  const [words] = error.message.split(/[,:'"`]/, 1)
  return new ErrorReply(words)
}

class RedisTimeoutError extends Error {
  override name = 'RedisTimeoutError'
}

/** @throws RedisTimeoutError when the command is not answered within that many milliseconds. */
function within<Value>(timeoutMs: number, command: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new RedisTimeoutError(`Redis did not answer in ${timeoutMs} ms`)),
      timeoutMs,
    )
    command.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
