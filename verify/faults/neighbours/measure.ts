// Measures how long one tenant's payments take, and how long until it hears of them, alone and
// beside the noise of another tenant.
import { setTimeout as wait } from 'node:timers/promises'
import { type Received, type Receiver, startReceiver } from '../../../test/support/receiver.ts'
import { SHORT_TTL_SECONDS } from '../lane.ts'
import type { Merchant } from '../merchant.ts'
import { poll } from '../poll.ts'
import { showComparison } from '../results.ts'
import { AUTOMATIC } from '../scenario.ts'

/** How long the provider takes for a call. The noise of the machine is small beside it. */
export const PROVIDER_MS = 300
/** The workers look for webhooks this often. */
const WEBHOOK_POLL_MS = 2_000
/** Far more than any limit here. The payment goes on afterwards, without the noise. */
const GIVE_UP_MS = 8_000
/** Of so many payments the median counts. */
const PAYMENTS = 3

/** The event of each payment of a backlog: it is held, and not captured, because that takes less time. */
export const BACKLOG_EVENT = 'payment.requires_capture' as const

interface Times {
  /** From the request until its final answer. */
  readonly paidMs: number
  /** From the request until the endpoint gets the event. */
  readonly heardMs: number
}

interface Noise {
  readonly begin: (receiver: Receiver) => Promise<unknown>
  readonly end: (receiver: Receiver) => Promise<unknown>
}

/** Compares payments of the merchant alone with those beside the noise. */
export async function payBeside(merchant: Merchant, { begin, end }: Noise): Promise<void> {
  const { provider } = merchant.lane
  const receiver = await startReceiver()
  try {
    await subscribe(merchant, receiver, NEIGHBOUR)
    const delay = { fault: 'delay', times: 1_000_000, delay_ms: PROVIDER_MS }
    await provider.plantFault({ match: { method: 'POST' }, ...delay })
    const alone = await payInTurn(merchant, receiver)
    await begin(receiver)
    const beside = await payInTurn(merchant, receiver)
    compare(merchant, alone.times, beside.times)
    await end(receiver)
    await beside.ended
  } finally {
    await provider.removeFaults()
    await receiver.stop()
  }
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

/**
 * Pays one time after the other. Without an answer in time it gives up, and that time counts.
 * `ended` resolves when all payments have ended, however long it takes.
 */
async function payInTurn(merchant: Merchant, receiver: Receiver) {
  const paid: number[] = []
  const heard: Promise<number>[] = []
  const ended: Promise<unknown>[] = []
  while (paid.length < PAYMENTS) {
    // Its calls and its webhooks must look up their hosts, as those of a busy service.
    for (const { provider } of merchant.lane.processes) provider.dropIdle()
    const beganAt = performance.now()
    const payment = merchant.pay(AUTOMATIC)
    ended.push(payment.catch(() => {}))
    const limit = wait(GIVE_UP_MS, 'late' as const, { ref: false })
    const isLate = (await Promise.race([payment, limit])) === 'late'
    paid.push(performance.now() - beganAt)
    if (isLate) break
    const { id = '' } = (await payment).resource
    const hasHeard = () => receivedBy(receiver, NEIGHBOUR).some(({ body }) => body.includes(id))
    const hearing = poll(GIVE_UP_MS, hasHeard, { pauseMs: 10 })
    heard.push(hearing.then(() => performance.now() - beganAt))
  }
  const heardMs = heard.length < paid.length ? [GIVE_UP_MS] : await Promise.all(heard)
  const times: Times = { paidMs: medianOf(paid), heardMs: medianOf(heardMs) }
  return { times, ended: Promise.all(ended) }
}

/** A series that was given up has fewer values: then the largest one counts. */
function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[values.length < PAYMENTS ? values.length - 1 : Math.floor(PAYMENTS / 2)] ?? 0
}

/** Keeps the comparison, and says what was too long. A busy machine can exceed a limit, too. */
export function compare({ comparisons, violations }: Merchant, alone: Times, beside: Times): void {
  for (const [what, member, moreMs] of [
    ['payment', 'paidMs', PROVIDER_MS],
    ['webhook', 'heardMs', WEBHOOK_POLL_MS],
  ] as const) {
    const times = { alone: alone[member], beside: beside[member] }
    const one = { what, unit: 'ms' as const, ...times, limit: 2 * times.alone + moreMs }
    comparisons.push(one)
    if (one.beside <= one.limit) continue
    violations.push({ invariant: 7, what: showComparison(one), isLate: true })
  }
}
