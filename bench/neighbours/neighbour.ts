// Makes the payments of tenant B at a steady pace and measures how long each takes, and its webhook.
import { randomUUID } from 'node:crypto'
import { Agent } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { send } from '../requests.ts'
import { PAYMENT } from '../speed/payment-requests.ts'
import { spreadOf, type Spread } from '../spread.ts'
import type { BenchTenant } from '../stack.ts'
import type { Receiver } from './receiver.ts'

export interface NeighbourParts {
  readonly apiUrl: string
  readonly neighbour: BenchTenant
  readonly receiver: Receiver
  readonly signal: AbortSignal
}

export interface NeighbourTimes {
  /** From the moment when the payment was due until its answer. */
  readonly payment: Spread
  /** From the same moment until the receiver has `payment.succeeded`. */
  readonly webhook: Spread
  /** Payments that did not succeed while their client waited. */
  readonly unexpected: number
  /** Webhooks that did not arrive. Each counts with the time that was waited for it. */
  readonly missing: number
}

/** Few enough to leave the machine idle, so that what changes is the effect of the noise. */
export const PAYMENTS_PER_SECOND = 4

/** The longest that the API lets a client wait. */
const WAIT_SECONDS = 20

/** How long a webhook may take after its payment. */
const WEBHOOK_LIMIT_MS = 60_000

const CREATED = 201

/**
 * A payment is sent when it is due, whether or not the one before has been answered, so that a
 * stalled service cannot hide the delay.
 */
export async function measureNeighbour(
  parts: NeighbourParts,
  seconds: number,
): Promise<NeighbourTimes> {
  // Each payment opens a connection: the service may close an idle one while it is used again.
  const agent = new Agent()
  const startedAtMs = performance.now()
  const count = seconds * PAYMENTS_PER_SECOND
  const payments = Array.from({ length: count }, async (_, index) => {
    const dueAtMs = startedAtMs + (index * 1_000) / PAYMENTS_PER_SECOND
    await delay(Math.max(1, dueAtMs - performance.now()), undefined, { signal: parts.signal })
    return await payAndHear(parts, agent, dueAtMs)
  })
  const times = await Promise.all(payments)
  return {
    payment: spreadOf(times.map(({ paymentMs }) => paymentMs)),
    webhook: spreadOf(times.map(({ webhookMs }) => webhookMs)),
    unexpected: times.filter(({ isExpected }) => !isExpected).length,
    missing: times.filter(({ isMissing }) => isMissing).length,
  }
}

async function payAndHear(
  { apiUrl, neighbour, receiver, signal }: NeighbourParts,
  agent: Agent,
  dueAtMs: number,
) {
  const headers = {
    authorization: `Bearer ${neighbour.apiKey}`,
    'idempotency-key': randomUUID(),
    'content-type': 'application/json',
    prefer: `wait=${WAIT_SECONDS}`,
  }
  const { status, text } = await send(
    `${apiUrl}/v1/payments`,
    { agent, headers, method: 'POST' },
    PAYMENT,
  )
  const paymentMs = performance.now() - dueAtMs
  const isExpected = status === CREATED
  const { id = '' } = JSON.parse(text) as { id?: string }
  const over = new AbortController()
  const arrivedAtMs = await Promise.race([
    receiver.untilSucceeded(id),
    delay(WEBHOOK_LIMIT_MS, undefined, { signal: AbortSignal.any([signal, over.signal]) }),
  ]).finally(() => over.abort())
  const webhookMs = (arrivedAtMs ?? performance.now()) - dueAtMs
  return { paymentMs, webhookMs, isExpected, isMissing: arrivedAtMs === undefined }
}
