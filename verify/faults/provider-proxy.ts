// A proxy between one process under test and its providers: the Stripe stand-in and, by the paths of its
// API, that of the second one. It calls the watch before a request is passed on (nothing is executed), before
// its answer is (all of it is executed), and half-way through the answer's body.
import { once } from 'node:events'
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { setTimeout as wait } from 'node:timers/promises'
import { calls } from '../../test/provider/stripe/calls.ts'
import { providerAt } from '../simulate/faults.ts'
import type { Place, Role } from './points.ts'
import { nameIn, type ProviderRequests, secondProvider } from './extras.ts'
import type { Action, Watch } from './watch.ts'
import { listen } from './links.ts'

/** Shorter than the timeout of a call, also on top of the time that the call takes. */
const GATHERING_LIMIT_MS = 150

/**
 * Holds each answer of the provider back until all have come, and passes them on together. The operations
 * then go on at the same moment, and share transactions.
 */
export class Gathering {
  readonly #size: number
  #waiting: (() => void)[] = []
  #limit: NodeJS.Timeout | undefined

  /** @param size how many answers are passed on together. */
  constructor(size: number) {
    this.#size = size
  }

  /** Resolves when enough others have come, or when the first one has waited for too long. */
  async arrive(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#waiting.push(resolve)
      if (this.#waiting.length === this.#size) return this.release()
      this.#limit ??= setTimeout(() => this.release(), GATHERING_LIMIT_MS)
    })
  }

  release(): void {
    clearTimeout(this.#limit)
    this.#limit = undefined
    for (const resolve of this.#waiting.splice(0)) resolve()
  }
}

/** Shorter than the timeout of a call. */
const DELAY_MS = 250
const POLL_MS = 5

const REQUESTS: ProviderRequests = {
  calls,
  reads: {
    look: /^GET \/v1\/(payment_intents|refunds)\/[^/]+$/,
    dispute: /^GET \/v1\/disputes\/[^/]+$/,
    list: /^GET /,
  },
}

/** Before the names of the second provider's requests. */
const SECOND = 'second-'

export const isAtSecond = ({ name }: Pick<Place, 'name'>): boolean =>
  name.startsWith(`provider-${SECOND}`)

/** The URLs of the stand-ins. */
export interface ProviderUrls {
  readonly first: string
  readonly second?: string | undefined
}

/** A request that was passed on, with its time by the clock of `performance`. */
export interface ForwardedRequest {
  readonly at: number
  readonly name: string
  /** Its idempotency key; undefined for a read. */
  readonly key?: string
}

export type ProviderProxy = Awaited<ReturnType<typeof openProviderProxy>>

export async function openProviderProxy(role: Role, targets: ProviderUrls, watch: Watch) {
  const requests: ForwardedRequest[] = []
  const stalled = new Set<ServerResponse>()
  const deferred: (() => void)[] = []
  const forward = createForwarder()
  let gathering: Gathering | undefined
  const targetOf = ({ name }: Pick<Place, 'name'>) =>
    new URL((isAtSecond({ name }) ? targets.second : undefined) ?? targets.first)

  async function serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { method = '', url = '' } = req
    const name = nameRequest(method, url)
    const body = await buffer(req)
    const place = { role, name: `provider-${name}`, peer: 'provider' } as const
    const call = { ...place, message: 'request', moment: 'before', direction: 'out' } as const
    const admission = await admit(res, call)
    if (admission === 'cut') return
    const key = req.headers['idempotency-key']
    requests.push({ at: performance.now(), name, ...(typeof key === 'string' && { key }) })
    const signal = admission === 'deferred' ? undefined : abortOnClose(res)
    const { answer, bytes } = await forward(targetOf(place), req, body, signal)
    await gathering?.arrive()
    const reply = { ...place, message: 'reply', moment: 'before', direction: 'in' } as const
    if (!apply(watch.reached(reply), res)) return
    // The length stays as it was, so that a process that gets half of the body notices.
    res.writeHead(answer.statusCode ?? 502, answer.rawHeaders)
    const half = Math.floor(bytes.length / 2)
    res.write(bytes.subarray(0, half))
    if (!apply(watch.reached({ ...reply, message: 'body', moment: 'middle' }), res)) return
    res.end(bytes.subarray(half))
  }

  /** `deferred`: the request is passed on now, long after it was sent. */
  async function admit(res: ServerResponse, place: Place): Promise<'passed' | 'deferred' | 'cut'> {
    const action = watch.reached(place)
    if (action.do === 'defer') {
      await new Promise<void>((resolve) => deferred.push(resolve))
      return 'deferred'
    }
    if (action.do !== 'misbehave') return apply(action, res) ? 'passed' : 'cut'
    const { fault, delayMs = DELAY_MS } = action
    const rule = { match: {}, fault, times: 1, delay_ms: delayMs }
    await providerAt(targetOf(place).origin).plantFault(rule)
    return 'passed'
  }

  /** Returns whether the message is passed on. */
  function apply(action: Action, res: ServerResponse): boolean {
    if (action.do === 'pass') return true
    if (action.do === 'stall') stalled.add(res)
    else if (action.do === 'end') res.destroy()
    else if (res.headersSent) res.write('', () => res.socket?.resetAndDestroy())
    else res.socket?.resetAndDestroy()
    return false
  }

  const server = createServer((req, res) => {
    // A process that is cut off notices by its connection.
    serve(req, res).catch(() => res.destroy())
  })
  return {
    url: `http://127.0.0.1:${await listen(server)}`,
    /** All requests that reached the provider so far. */
    requests,
    /** From now on so many answers are passed on together. */
    gather(size: number): void {
      gathering = new Gathering(size)
    },
    /** Passes on each answer when it comes. */
    endGathering(): void {
      gathering?.release()
      gathering = undefined
    },
    /** Passes on the deferred requests, whose senders gave up long ago. */
    async releaseDeferred(): Promise<void> {
      for (const release of deferred.splice(0)) release()
      while (forward.inProgress() > 0) await wait(POLL_MS)
    },
    /** Closes the connections without a request: the next one has to find its host again. */
    dropIdle: () => server.closeIdleConnections(),
    dropStalled(): void {
      for (const response of stalled) response.destroy()
      stalled.clear()
    },
    close(): void {
      server.closeAllConnections()
      forward.end()
      server.close()
    },
  }
}

/** Passes requests on, and counts those that the provider has not answered yet. */
function createForwarder() {
  const agent = new Agent({ keepAlive: true })
  let count = 0
  const forward = async (
    { hostname, port }: URL,
    req: IncomingMessage,
    body: Buffer,
    signal: AbortSignal | undefined,
  ) => {
    const { method, url: path, headers } = req
    count += 1
    try {
      const to = { hostname, port, method, path, headers, agent, ...(signal && { signal }) }
      const own = request(to)
      own.end(body)
      const [answer] = (await once(own, 'response')) as [IncomingMessage]
      return { answer, bytes: await buffer(answer) }
    } finally {
      count -= 1
    }
  }
  return Object.assign(forward, { inProgress: () => count, end: () => agent.destroy() })
}

/** Aborted when the process disconnects, so that the provider notices, too. */
function abortOnClose(res: ServerResponse): AbortSignal {
  const left = new AbortController()
  res.once('close', () => left.abort())
  return left.signal
}

export function nameRequest(method: string, url: string): string {
  const line = `${method} ${url.split('?')[0]}`
  const second = secondProvider && nameIn(secondProvider.requests, line)
  return second === undefined ? (nameIn(REQUESTS, line) ?? 'call') : `${SECOND}${second}`
}
