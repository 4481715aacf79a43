// Generates the load of a soak: a fixed number of requests per second, however long the answers
// take. Latency counts from the moment a request was due, so that a stalled service cannot hide the
// delay.
import { randomUUID } from 'node:crypto'
import { Agent } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import {
  anyOf,
  getOf,
  keyed,
  payOnce,
  post,
  sendExpecting,
  type CompletedKey,
} from '../speed/payment-requests.ts'
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
const REFUND = JSON.stringify({ amount: 500 })

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

interface RecentPayment extends CompletedKey {
  readonly tenant: BenchTenant
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
    const { apiUrl } = this.#target
    if (kind === 'pay') return await this.#pay()
    if (kind === 'replay') {
      const since = performance.now() - REPLAYED_MS
      const { tenant, key } = anyOf(
        this.#recent.slice(this.#recent.findIndex(({ at }) => at >= since)),
      )
      const replay = post('/v1/payments', keyed(tenant, key))
      await sendExpecting(201, apiUrl, this.#agent, replay)
    } else if (kind === 'get') {
      const { tenant, paymentId } = anyOf(this.#recent)
      await sendExpecting(200, apiUrl, this.#agent, getOf(tenant, paymentId))
    } else {
      // Removed from the list, so that each payment is refunded once.
      const { tenant, paymentId } = this.#recent.shift() as RecentPayment
      const path = `/v1/payments/${paymentId}/refunds`
      const refund = post(path, keyed(tenant, randomUUID()), REFUND)
      await sendExpecting(201, apiUrl, this.#agent, refund)
    }
  }

  async #pay(): Promise<void> {
    const tenant = anyOf(this.#target.tenants)
    const paid = await payOnce(this.#target.apiUrl, tenant, this.#agent)
    this.#payments += 1
    this.#recent.push({ tenant, ...paid, at: performance.now() })
    if (this.#recent.length > REMEMBERED) this.#recent.shift()
  }
}

function emptyTimes(): Record<TrafficKind, number[]> {
  return { pay: [], replay: [], get: [], refund: [] }
}
