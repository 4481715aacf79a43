// A proxy between one process under test and its providers: the Stripe stand-in and, by the paths of its
// API, that of the second one. It calls the watch before a request is passed on (nothing is executed), before its answer is (all of it is executed), and
// half-way through the answer's body.
import { once } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { Agent, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { setTimeout as wait } from 'node:timers/promises'
import { providerAt } from '../simulate/faults.ts'
import type { Place, Role } from './points.ts'
import { type RequestPatterns, secondProvider } from './second-provider-kind.ts'
import type { Action, Watch } from './watch.ts'

/** Shorter than the timeout of a call, also on top of the time that the call takes. */
const GATHERING_LIMIT_MS = 150

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

/**
 * The first pattern that matches names the request: a call of the port, which does not compile without a
 * pattern, or a read.
 */
const PATTERNS: RequestPatterns = {
  authorize: /^POST \/v1\/payment_intents$/,
  capture: /^POST \/v1\/payment_intents\/[^/]+\/capture$/,
  adjust: /^POST \/v1\/payment_intents\/[^/]+\/increment_authorization$/,
  cancel: /^POST \/v1\/payment_intents\/[^/]+\/cancel$/,
  refund: /^POST \/v1\/refunds$/,
  look: /^GET \/v1\/(payment_intents|refunds)\/[^/]+$/,
  dispute: /^GET \/v1\/disputes\/[^/]+$/,
  list: /^GET /,
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

export class ProviderProxy {
  readonly #role: Role
  readonly #watch: Watch
  readonly #targets: ProviderUrls
  readonly #server: Server
  readonly #agent = new Agent({ keepAlive: true })
  readonly #stalled = new Set<ServerResponse>()
  readonly #deferred: (() => void)[] = []
  #gathering: Gathering | undefined
  /** How many requests the provider has not answered yet. */
  #forwarding = 0
  /** All requests that reached the provider so far. */
  readonly requests: ForwardedRequest[] = []

  private constructor(role: Role, targets: ProviderUrls, watch: Watch) {
    this.#role = role
    this.#watch = watch
    this.#targets = targets
    this.#server = createServer((req, res) => {
      // A process that is cut off notices by its connection.
      this.#serve(req, res).catch(() => res.destroy())
    })
  }

  static async open(role: Role, targets: ProviderUrls, watch: Watch): Promise<ProviderProxy> {
    const proxy = new ProviderProxy(role, targets, watch)
    proxy.#server.listen(0, '127.0.0.1')
    await once(proxy.#server, 'listening')
    return proxy
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** From now on so many answers are passed on together. */
  gather(size: number): void {
    this.#gathering = new Gathering(size)
  }

  /** Passes on each answer when it comes. */
  endGathering(): void {
    this.#gathering?.release()
    this.#gathering = undefined
  }

  /** Passes on the deferred requests, whose senders gave up long ago. */
  async releaseDeferred(): Promise<void> {
    for (const release of this.#deferred.splice(0)) release()
    while (this.#forwarding > 0) await wait(POLL_MS)
  }

  /** Closes the connections without a request: the next one has to find its host again. */
  dropIdle(): void {
    this.#server.closeIdleConnections()
  }

  dropStalled(): void {
    for (const response of this.#stalled) response.destroy()
    this.#stalled.clear()
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    this.#agent.destroy()
    this.#server.close()
    if (this.#server.listening) await once(this.#server, 'close')
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { method = '', url = '' } = req
    const name = nameRequest(method, url)
    const body = await buffer(req)
    const place = { role: this.#role, name: `provider-${name}`, peer: 'provider' } as const
    const requestPlace = {
      ...place,
      message: 'request',
      moment: 'before',
      direction: 'out',
    } as const
    const admission = await this.#admit(res, requestPlace)
    if (admission === 'cut') return
    const key = req.headers['idempotency-key']
    this.requests.push({ at: performance.now(), name, ...(typeof key === 'string' && { key }) })
    const { answer, bytes } = await this.#forward(
      this.#targetOf(place),
      req,
      body,
      admission === 'deferred' ? undefined : abortOnClose(res),
    )
    await this.#gathering?.arrive()
    if (!this.#mayPass(res, { ...place, message: 'reply', moment: 'before', direction: 'in' }))
      return
    // The length stays as it was, so that a process that gets half of the body notices.
    res.writeHead(answer.statusCode ?? 502, answer.rawHeaders)
    const half = Math.floor(bytes.length / 2)
    res.write(bytes.subarray(0, half))
    if (!this.#mayPass(res, { ...place, message: 'body', moment: 'middle', direction: 'in' }))
      return
    res.end(bytes.subarray(half))
  }

  /** `deferred`: the request is passed on now, long after it was sent. */
  async #admit(res: ServerResponse, place: Place): Promise<'passed' | 'deferred' | 'cut'> {
    const action = this.#watch.reached(place)
    if (action.do === 'defer') {
      await new Promise<void>((resolve) => this.#deferred.push(resolve))
      return 'deferred'
    }
    if (action.do !== 'misbehave') return this.#apply(action, res) ? 'passed' : 'cut'
    const { fault, delayMs = DELAY_MS } = action
    await providerAt(this.#targetOf(place).origin).plantFault({
      match: {},
      fault,
      times: 1,
      delay_ms: delayMs,
    })
    return 'passed'
  }

  #mayPass(res: ServerResponse, place: Place): boolean {
    return this.#apply(this.#watch.reached(place), res)
  }

  #apply(action: Action, res: ServerResponse): boolean {
    if (action.do === 'pass') return true
    if (action.do === 'stall') this.#stalled.add(res)
    else if (action.do === 'end') res.destroy()
    else if (res.headersSent) res.write('', () => res.socket?.resetAndDestroy())
    else res.socket?.resetAndDestroy()
    return false
  }

  #targetOf(place: Pick<Place, 'name'>): URL {
    const { first, second = first } = this.#targets
    return new URL(isAtSecond(place) ? second : first)
  }

  async #forward(
    { hostname, port }: URL,
    req: IncomingMessage,
    body: Buffer,
    signal: AbortSignal | undefined,
  ) {
    const { method, url: path, headers } = req
    this.#forwarding += 1
    try {
      const to = { hostname, port, method, path, headers, agent: this.#agent }
      const own = request(signal === undefined ? to : { ...to, signal })
      own.end(body)
      const [answer] = (await once(own, 'response')) as [IncomingMessage]
      return { answer, bytes: await buffer(answer) }
    } finally {
      this.#forwarding -= 1
    }
  }
}

/** Aborted when the process disconnects, so that the provider notices, too. */
function abortOnClose(res: ServerResponse): AbortSignal {
  const left = new AbortController()
  res.once('close', () => left.abort())
  return left.signal
}

export function nameRequest(method: string, url: string): string {
  const line = `${method} ${url.split('?')[0]}`
  const nameIn = (patterns: Partial<RequestPatterns>) =>
    Object.entries(patterns).find(([, pattern]) => pattern.test(line))?.[0]
  const second = nameIn(secondProvider?.patterns ?? {})
  return second === undefined ? (nameIn(PATTERNS) ?? 'call') : `${SECOND}${second}`
}
