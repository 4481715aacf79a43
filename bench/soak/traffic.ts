// Generates the load of a soak: a fixed number of requests per second, however long the answers
// take. Latency counts from the moment a request was due, so that a stalled service cannot hide the
// delay.
import { randomUUID } from 'node:crypto'
import { Agent } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { anyOf, send } from '../requests.ts'
import { PAYMENT } from '../speed/payment-requests.ts'
import type { BenchTenant } from '../stack.ts'

/** The most requests that wait for an answer at a time. Further requests are sent late. */
const CLIENTS = 64

export const trafficKinds = ['pay', 'replay', 'get', 'refund'] as const
export type TrafficKind = (typeof trafficKinds)[number]

/** Twenty turns: eight payments, six replays, five GETs and a refund. */
const TURNS: readonly TrafficKind[] = [
  ...(['pay', 'replay', 'get', 'pay', 'replay', 'get', 'pay', 'replay', 'get', 'pay'] as const),
  ...(['replay', 'pay', 'get', 'pay', 'replay', 'pay', 'get', 'pay', 'replay', 'refund'] as const),
]

/** Only keys younger than this are replayed, because they have not expired. */
const REPLAYED_MS = 5_000
/** The number of payments that are remembered for GETs, replays and refunds. */
const REMEMBERED = 2_000
const REFUNDED_MINOR = 500

export interface Target {
  readonly apiUrl: string
  readonly tenants: readonly BenchTenant[]
  /** Requests per second. */
  readonly rate: number
}

/** The latency since the previous report, and the counts since the start. */
export interface TrafficReport {
  readonly timesMs: Readonly<Record<TrafficKind, readonly number[]>>
  readonly answers: number
  readonly payments: number
  /** Answers with an unexpected status, and requests without an answer. */
  readonly unexpected: number
  /** Describes the first of these. */
  readonly firstUnexpected: string | undefined
}

interface RecentPayment {
  readonly tenant: BenchTenant
  readonly key: string
  readonly id: string
  readonly at: number
}

export class Traffic {
  readonly #target: Target
  readonly #agent = new Agent({ keepAlive: true, maxSockets: CLIENTS })
  readonly #stopping = new AbortController()
  readonly #recent: RecentPayment[] = []
  readonly #ended: Promise<unknown>
  #timesMs = emptyTimes()
  #answers = 0
  #payments = 0
  #unexpected = 0
  #firstUnexpected: string | undefined

  constructor(target: Target) {
    this.#target = target
    const beganAt = performance.now()
    this.#ended = Promise.all(
      Array.from({ length: CLIENTS }, (_, number) => this.#runClient(number, beganAt)),
    )
  }

  takeReport(): TrafficReport {
    const timesMs = this.#timesMs
    this.#timesMs = emptyTimes()
    return {
      timesMs,
      answers: this.#answers,
      payments: this.#payments,
      unexpected: this.#unexpected,
      firstUnexpected: this.#firstUnexpected,
    }
  }

  /** Stops sending and waits for the outstanding answers. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#ended
    this.#agent.destroy()
  }

  /** Client n of N takes the turns n, n + N, n + 2N... */
  async #runClient(number: number, beganAt: number): Promise<void> {
    const { signal: stop } = this.#stopping
    for (let turn = number; !stop.aborted; turn += CLIENTS) {
      const dueAt = beganAt + (turn * 1_000) / this.#target.rate
      const earlyMs = dueAt - performance.now()
      if (earlyMs > 0) await delay(earlyMs, undefined, { signal: stop }).catch(() => {})
      if (stop.aborted) return
      await this.#request(TURNS[turn % TURNS.length] ?? 'get', dueAt)
    }
  }

  async #request(planned: TrafficKind, dueAt: number): Promise<void> {
    const kind = this.#isPossible(planned) ? planned : 'pay'
    try {
      await this.#run(kind)
    } catch (error) {
      this.#unexpected += 1
      this.#firstUnexpected ??= `${kind}: ${(error as Error).message}`
    }
    this.#answers += 1
    this.#timesMs[kind].push(performance.now() - dueAt)
  }

  /** All kinds but `pay` need an earlier payment; a replay needs a recent one. */
  #isPossible(kind: TrafficKind): boolean {
    const latest = this.#recent.at(-1)
    if (kind === 'pay') return true
    if (latest === undefined) return false
    return kind !== 'replay' || performance.now() - latest.at < REPLAYED_MS
  }

  async #run(kind: TrafficKind): Promise<void> {
    if (kind === 'pay') return await this.#pay()
    if (kind === 'replay') {
      const since = performance.now() - REPLAYED_MS
      const { tenant, key } = anyOf(
        this.#recent.slice(this.#recent.findIndex(({ at }) => at >= since)),
      )
      await this.#send(201, tenant, { path: '/v1/payments', key, body: PAYMENT })
    } else if (kind === 'get') {
      const { tenant, id } = anyOf(this.#recent)
      await this.#send(200, tenant, { path: `/v1/payments/${id}` })
    } else {
      // Removed from the list, so that each payment is refunded once.
      const { tenant, id } = this.#recent.shift() as RecentPayment
      const body = JSON.stringify({ amount: REFUNDED_MINOR })
      const path = `/v1/payments/${id}/refunds`
      await this.#send(201, tenant, { path, key: randomUUID(), body })
    }
  }

  async #pay(): Promise<void> {
    const tenant = anyOf(this.#target.tenants)
    const key = randomUUID()
    const text = await this.#send(201, tenant, { path: '/v1/payments', key, body: PAYMENT })
    const { id } = JSON.parse(text) as { id: string }
    this.#payments += 1
    this.#recent.push({ tenant, key, id, at: performance.now() })
    if (this.#recent.length > REMEMBERED) this.#recent.shift()
  }

  /** @throws Error when the answer is not the expected one. */
  async #send(expected: number, tenant: BenchTenant, parts: RequestParts): Promise<string> {
    const authorization = `Bearer ${tenant.apiKey}`
    const call =
      parts.body === undefined
        ? { agent: this.#agent, headers: { authorization } }
        : {
            agent: this.#agent,
            method: 'POST',
            headers: {
              authorization,
              'content-type': 'application/json',
              'idempotency-key': parts.key ?? '',
            },
          }
    const { status, text } = await send(`${this.#target.apiUrl}${parts.path}`, call, parts.body)
    if (status !== expected) throw new Error(`answered ${status}: ${text}`)
    return text
  }
}

interface RequestParts {
  readonly path: string
  readonly key?: string
  /** Without a body the request is a GET. */
  readonly body?: string
}

function emptyTimes(): Record<TrafficKind, number[]> {
  return { pay: [], replay: [], get: [], refund: [] }
}
