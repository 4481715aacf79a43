// Measures how long one tenant's payments take, and how long until it hears of them, alone and
// beside the noise of another tenant.
import { setTimeout as wait } from 'node:timers/promises'
import type { Received, Receiver } from '../../../test/support/receiver.ts'
import { SHORT_TTL_SECONDS } from '../lane.ts'
import type { Merchant } from '../merchant.ts'
import { AUTOMATIC } from '../scenario.ts'
import { showComparison, type Comparison } from '../results.ts'

/** How long the provider takes for a call. The noise of the machine is small beside it. */
export const PROVIDER_MS = 300
/** The workers look for webhooks this often. */
const WEBHOOK_POLL_MS = 2_000
/** Far more than any limit here. The payment goes on afterwards, without the noise. */
const GIVE_UP_MS = 8_000
/** Of so many payments the median counts. */
const PAYMENTS = 3
const POLL_MS = 10

/** The event of each payment of a backlog: it is held, and not captured, because that takes less time. */
export const BACKLOG_EVENT = 'payment.requires_capture' as const

export interface Times {
  /** From the request until its final answer. */
  readonly paidMs: number
  /** From the request until the endpoint gets the event. */
  readonly heardMs: number
}

export interface Stage {
  readonly merchant: Merchant
  readonly receiver: Receiver
}

/** Every call of the provider takes a while from now on. */
export async function slowDownProvider({ lane }: Merchant): Promise<void> {
  const match = { method: 'POST' } as const
  await lane.provider.plantFault({
    match,
    fault: 'delay',
    times: 1_000_000,
    delay_ms: PROVIDER_MS,
  })
}

/** Creates an endpoint for an event, whose host has this name. */
export async function subscribe(
  { lane, sender: { client } }: Merchant,
  { port }: Receiver,
  host: string,
  eventType: 'payment.succeeded' | typeof BACKLOG_EVENT = 'payment.succeeded',
): Promise<string> {
  lane.names.set(host, ['127.0.0.1'], SHORT_TTL_SECONDS)
  const { data } = await client.POST('/v1/webhook-endpoints', {
    idempotencyKey: `endpoint-${host}`,
    params: { header: {} },
    body: { url: `http://${host}:${port}/${host}`, event_types: [eventType] },
  })
  if (data === undefined) throw new Error('an endpoint was not created')
  return data.id
}

/** What an endpoint of that host has received. */
export function receivedBy({ received }: Receiver, host: string): Received[] {
  return received.filter(({ path }) => path === `/${host}`)
}

export const NEIGHBOUR = 'neighbour.test'

/** Payments of a series: their times, and their end, however long it takes. */
export interface Series {
  readonly times: Times
  readonly ended: Promise<unknown>
}

/** Pays one time after the other. Without an answer in time it gives up, and that time counts. */
export async function payInTurn(stage: Stage): Promise<Series> {
  const paid: number[] = []
  const heard: Promise<number>[] = []
  const ended: Promise<unknown>[] = []
  while (paid.length < PAYMENTS) {
    // Its calls and its webhooks must look up their hosts, as those of a busy service.
    for (const { provider } of stage.merchant.lane.processes) provider.dropIdle()
    const beganAt = performance.now()
    const payment = stage.merchant.pay(AUTOMATIC)
    ended.push(payment.catch(() => {}))
    const limit = wait(GIVE_UP_MS, 'late' as const, { ref: false })
    const isLate = (await Promise.race([payment, limit])) === 'late'
    paid.push(performance.now() - beganAt)
    if (isLate) break
    const { id = '' } = (await payment).resource
    heard.push(untilHeard(stage, id, beganAt))
  }
  const heardMs = heard.length < paid.length ? [GIVE_UP_MS] : await Promise.all(heard)
  return {
    times: { paidMs: medianOf(paid, PAYMENTS), heardMs: medianOf(heardMs, PAYMENTS) },
    ended: Promise.all(ended),
  }
}

async function untilHeard({ receiver }: Stage, id: string, beganAt: number): Promise<number> {
  const hasHeard = () => receivedBy(receiver, NEIGHBOUR).some(({ body }) => body.includes(id))
  while (!hasHeard() && performance.now() - beganAt < GIVE_UP_MS) await wait(POLL_MS)
  return performance.now() - beganAt
}

/** A series that was given up has fewer values: then the largest one counts. */
function medianOf(values: readonly number[], wanted: number): number {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[values.length < wanted ? values.length - 1 : Math.floor(wanted / 2)] ?? 0
}

/** Keeps the comparison, and says what was too long. A busy machine can exceed a limit, too. */
export function compare({ comparisons, violations }: Merchant, alone: Times, beside: Times): void {
  const made: Comparison[] = [
    {
      what: 'payment',
      unit: 'ms',
      alone: alone.paidMs,
      beside: beside.paidMs,
      limit: 2 * alone.paidMs + PROVIDER_MS,
    },
    {
      what: 'webhook',
      unit: 'ms',
      alone: alone.heardMs,
      beside: beside.heardMs,
      limit: 2 * alone.heardMs + WEBHOOK_POLL_MS,
    },
  ]
  for (const one of made) {
    comparisons.push(one)
    if (one.beside <= one.limit) continue
    violations.push({ invariant: 7, what: showComparison(one), isLate: true })
  }
}
