// Contests: scenarios in which requests compete for one key or one amount, or the service needs
// patience. The order of concurrent messages differs from run to run, so their points are not
// swept; they show mutants.
import { startReceiver } from '../../test/support/receiver.ts'
import type { Operation } from '../simulate/history.ts'
import { idsIn } from './ids-in.ts'
import type { Lane } from './lane.ts'
import { Merchant } from './merchant.ts'
import { RECOVERY_LIMIT_MS } from './bounds.ts'
import { AUTOMATIC, CREATION, paid } from './payments.ts'
import { poll } from './poll.ts'
import type { Scenario } from './scenario.ts'

export const PAYMENT = { kind: 'payment.create', body: { ...AUTOMATIC, amount: 2_500 } } as const

export const contests: readonly Scenario[] = [
  { name: 'payment.create.at-once', act: payTwiceAtOnce },
  { name: 'payment.create.reused-key', act: reuseKey },
  { name: 'payment.create.card-number', act: sendCardNumber },
  { name: 'payment.create.unwelcome', act: payUnwelcome },
  { name: 'payment.create.unclear', act: payUnclear },
  { name: 'payment.create.overheard', act: payOverheard },
  { name: 'refund.create.at-once', prepare: paid(PAYMENT.body), act: refundTwiceAtOnce },
]

async function payTwiceAtOnce(merchant: Merchant): Promise<void> {
  const operation = merchant.begin(PAYMENT)
  await Promise.all([merchant.send(operation), merchant.send(operation)])
  await merchant.untilAllAnswered()
}

async function reuseKey(merchant: Merchant): Promise<void> {
  await merchant.perform(PAYMENT)
  const { key = '' } = merchant.history.operations[0] ?? {}
  const body = { ...PAYMENT.body, amount: PAYMENT.body.amount + 1 }
  await merchant.sendRefused({ ...PAYMENT, body }, { why: 'reuse', key, label: 'other' })
}

/** A test card number, as a person may write it. */
const CARD_NUMBER = '4242 4242 4242 4242'

async function sendCardNumber(merchant: Merchant): Promise<void> {
  const body = { ...PAYMENT.body, metadata: { note: CARD_NUMBER } }
  await merchant.sendRefused({ ...PAYMENT, body }, { why: 'invalid', key: 'card', label: 'card' })
}

/** More than the calls of a service whose settings make it give up early. */
const REJECTIONS = 4

/** A completed key has a response: a client without an answer after this time never gets one. */
const ANSWER_LIMIT_MS = 3_000

/** The provider rejects the first calls, so that the client has to retry. */
async function payUnwelcome(merchant: Merchant): Promise<void> {
  const { provider } = merchant.lane
  await provider.plantFault({ match: CREATION, fault: 'rate_limited', times: REJECTIONS })
  let completedAt = Infinity
  await sendUntil(merchant, merchant.begin(PAYMENT), async () => {
    if (completedAt === Infinity && (await isCompleted(merchant))) completedAt = performance.now()
    return performance.now() - completedAt > ANSWER_LIMIT_MS
  })
  await provider.removeFaults()
}

/** Sends the request. Its client stops to wait when the condition is true. */
async function sendUntil(
  merchant: Merchant,
  operation: Operation,
  isOver: () => Promise<boolean>,
  healed: (isAnswered: boolean) => Promise<boolean> = async (isAnswered) => isAnswered,
): Promise<void> {
  const waiting = new AbortController()
  const sent = merchant.send(operation, { signal: waiting.signal })
  const isAnswered = () => operation.answers.length > 0
  await poll(RECOVERY_LIMIT_MS, async () => isAnswered() || (await isOver()), { pauseMs: 50 })
  if (!(await healed(isAnswered()))) waiting.abort()
  await sent
}

async function isCompleted({ lane, tenant }: Merchant): Promise<boolean> {
  const rows = await lane.owner.sql`
    select from idempotency_keys where tenant_id = ${tenant.id} and status = 'completed'
  `
  return rows.length > 0
}

/** Enough for all checks of a schedule of one second, and for the finding after the last one. */
const FINDING_LIMIT_SECONDS = 8

/**
 * The provider cannot be read for a while, so that an unknown outcome can only become a finding.
 * Then it can be read again. Without a finding the client stops waiting.
 */
async function payUnclear(merchant: Merchant): Promise<void> {
  const { provider } = merchant.lane
  const match = { method: 'GET', path: '/v1/*' } as const
  await provider.plantFault({ match, fault: 'error_500_before', times: 1_000 })
  let isKnown = false
  await sendUntil(
    merchant,
    merchant.begin(PAYMENT),
    () => isFindingDue(merchant),
    async (isAnswered) => {
      isKnown = isAnswered || (await isFindingOpen(merchant))
      await provider.removeFaults()
      merchant.healedAt = performance.now()
      return isKnown
    },
  )
  if (isKnown) await merchant.untilAllAnswered()
}

async function isFindingOpen({ lane, tenant }: Merchant): Promise<boolean> {
  const rows = await lane.owner.sql`
    select from reconciliation_findings where tenant_id = ${tenant.id} and status = 'open'
  `
  return rows.length > 0
}

/** Whether there is a finding, or should be one, counted from when the outcome became unknown. */
async function isFindingDue(merchant: Merchant): Promise<boolean> {
  const { lane, tenant } = merchant
  const rows = await lane.owner.sql`
    select from idempotency_keys
    where tenant_id = ${tenant.id}
      and unknown_at < now() - ${FINDING_LIMIT_SECONDS} * interval '1 second'
  `
  return rows.length > 0 || (await isFindingOpen(merchant))
}

/** Deliveries are sent at the next poll. */
const DELIVERY_LIMIT_MS = 10_000

/** Another tenant subscribes to all events, and must receive those of its own payments only. */
async function payOverheard(merchant: Merchant): Promise<void> {
  const { lane, signal } = merchant
  const receiver = await startReceiver()
  try {
    const other = new Merchant(lane, await lane.createTenant(), signal)
    await subscribe(other, receiver.port)
    await merchant.perform(PAYMENT)
    const own = await paid(PAYMENT.body)(other)
    const hasReceived = await poll(
      DELIVERY_LIMIT_MS,
      async () =>
        receiver.received.some(({ body }) => body.includes(own)) && (await isDelivered(lane)),
    )
    if (!hasReceived) throw new Error('an endpoint did not receive the event of its own payment')
    const heard = receiver.received.flatMap(({ body }) => idsIn(body))
    for (const id of heard.filter((heardOf) => merchant.known.has(heardOf))) {
      const what = `the endpoint of another tenant received ${id}`
      merchant.violations.push({ invariant: 9, what })
    }
  } finally {
    await receiver.stop()
  }
}

/** Subscribes an endpoint of this machine to all events. */
export async function subscribe({ sender }: Merchant, port: number): Promise<void> {
  const body = { url: `http://127.0.0.1:${port}/`, event_types: ['*'] as ['*'] }
  const { response } = await sender.client.POST('/v1/webhook-endpoints', {
    idempotencyKey: 'endpoint',
    params: { header: {} },
    body,
  })
  if (!response.ok) throw new Error(`creating an endpoint was answered ${response.status}`)
}

async function isDelivered({ owner: { sql } }: Lane): Promise<boolean> {
  const waiting = await sql`
    select from atomic_jobs.job where name = 'webhook-deliveries' and state < 'completed'
  `
  return waiting.length === 0
}

/** Two of these are more than the payment. */
const SHARE = 2_000

async function refundTwiceAtOnce(merchant: Merchant, paymentId: string): Promise<void> {
  const refunds = [1, 2].map(() =>
    merchant.begin({ kind: 'refund.create', paymentId, body: { amount: SHARE } }),
  )
  await Promise.all(refunds.map((refund) => merchant.send(refund)))
  await merchant.untilAllAnswered()
}
