// Contests: scenarios in which requests compete for one key or one amount, the reaper competes with a
// client, a client cancels its key, or the service needs patience. The order of concurrent messages
// differs from run to run, so their points are not swept; they show mutants.
import { randomInt } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { startReceiver } from '../../test/support/receiver.ts'
import type { Operation } from '../simulate/history.ts'
import { keepAnswer } from '../simulate/traffic.ts'
import { readProblem, unwrap } from '../../client/errors.ts'
import { ofKind, sumOf } from '../simulate/invariants.ts'
import { idsIn, Merchant, type Wanted } from './merchant.ts'
import type { Lane } from './lane.ts'
import { RECOVERY_LIMIT_MS, type Violation } from './results.ts'
import { AUTOMATIC, CREATION, MANUAL, paid, type Scenario } from './scenario.ts'
import { poll } from './poll.ts'
import { type Contested, expire, makeJobDue, rendezvous, untilWaiting } from './contention.ts'
import { findPayment, until } from './event-scenarios.ts'

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

export const reaperContests: readonly Scenario[] = [
  { name: 'payment.create.reaped', act: (merchant) => contest(merchant, 'reaper') },
  { name: 'payment.create.in-time', act: (merchant) => contest(merchant, 'client') },
]

/** Two requests of the client, and the reaper. */
const RIVALS = 3

/** @param first reaches the key first and wins. */
async function contest(merchant: Merchant, first: 'reaper' | 'client'): Promise<void> {
  const { lane, tenant } = merchant
  const contested = { lane, tenantId: tenant.id }
  await lane.provider.plantFault({ match: CREATION, fault: 'rate_limited', times: 1_000 })
  const operation = merchant.begin(PAYMENT)
  const { content, key } = operation
  keepAnswer(operation, await merchant.sender.send(content, key, { patience: 'respond_async' }))
  await untilFailed(contested)
  await lane.provider.removeFaults()
  await expire(contested, '-1 second')
  const sent: Promise<void>[] = []
  const haveMet = await rendezvous(contested, RIVALS, async () => {
    if (first === 'reaper') await untilWaiting(lane, 1)
    sent.push(merchant.send(operation), merchant.send(operation))
  })
  await Promise.all(sent)
  // The reaper may have completed the key before the contest began.
  if (!haveMet && sent.length > 0) throw new Error('the reaper and the client did not meet')
  await merchant.untilAllAnswered()
  // What happens when the completed key expires is not part of the contest.
  await expire(contested, '1 hour')
}

/** More than the service's own attempts. */
const MANY = 1_000

/** Uses up the attempts and the time of the operation, without the pauses between attempts. */
async function untilFailed(contested: Contested): Promise<void> {
  const { lane, tenantId } = contested
  const { sql } = lane.owner
  const hasFailed = await poll(RECOVERY_LIMIT_MS, async () => {
    const failed = await sql`
      select from idempotency_keys where tenant_id = ${tenantId} and status = 'failed_retryable'
    `
    if (failed.length > 0) return true
    await sql`
      update idempotency_keys set attempts = ${MANY}, created_at = created_at - interval '2 days'
      where tenant_id = ${tenantId} and status = 'pending' and attempts > 0
    `
    await makeJobDue(contested)
    return false
  })
  if (!hasFailed) throw new Error('the operation did not fail in time')
}

export const cancelAfterwards: Scenario = {
  name: 'payment.create.canceled',
  act: async (merchant) => {
    await merchant.pay(AUTOMATIC)
    await cancelKeyOf(merchant, merchant.history.operations[0])
  },
  check: checkCancellation,
}

/** The provider refuses to return the money. */
export const cancelInVain: Scenario = {
  name: 'payment.create.canceled-in-vain',
  act: async (merchant) => {
    await merchant.pay(AUTOMATIC)
    const { intentId } = await findPayment(merchant)
    const alter = (amount: number) =>
      merchant.lane.provider.control('POST', `objects/${intentId}`, { amount })
    // Less than a refund of the capture.
    await alter(1)
    await cancelKeyOf(merchant, merchant.history.operations[0])
    await alter(AUTOMATIC.amount)
  },
  check: checkCancellation,
}

/** The operation and its cancellation race, so their points are not swept. */
export const canceledAtOnce: readonly Scenario[] = [
  {
    name: 'payment.create.canceled-at-once',
    act: (merchant) => cancelAtOnce(merchant, PAYMENT),
    check: checkCancellation,
  },
  {
    name: 'payment.capture.canceled-at-once',
    prepare: paid(MANUAL),
    act: (merchant, paymentId) => {
      const { amount } = MANUAL
      return cancelAtOnce(merchant, { kind: 'payment.capture', paymentId, amount })
    },
    check: checkCancellation,
  },
  {
    name: 'refund.create.canceled-at-once',
    prepare: paid(AUTOMATIC),
    act: (merchant, paymentId) =>
      cancelAtOnce(merchant, { kind: 'refund.create', paymentId, body: { amount: 1_000 } }),
    check: checkCancellation,
  },
]

/** An operation takes about as long. */
const SPREAD_MS = 60

async function cancelAtOnce(merchant: Merchant, wanted: Wanted): Promise<void> {
  const operation = merchant.begin(wanted)
  const canceled = wait(randomInt(SPREAD_MS)).then(() => cancelKeyOf(merchant, operation))
  await Promise.all([merchant.send(operation), canceled])
}

/** Repeats the request, which is safe, until the cancellation has ended. */
async function cancelKeyOf(merchant: Merchant, operation: Operation | undefined): Promise<void> {
  if (operation === undefined) throw new Error('nothing was sent')
  const { sender, signal } = merchant
  const { key } = operation
  operation.isCanceled = true
  const isEnded = async () => {
    const reply = await sender.client
      .POST('/v1/idempotency-keys/{key}/cancel', { params: { path: { key } }, signal })
      // Without an answer, the cancellation may have begun.
      .catch(() => undefined)
    signal.throwIfAborted()
    if (reply?.error !== undefined && readProblem(reply.error).problem === NOT_CANCELABLE)
      return true
    return reply?.data !== undefined && reply.data.cancellation !== 'in_progress'
  }
  await until(merchant, isEnded, 'the cancellation of the key has not ended')
}

/** A completed refund cannot be canceled. */
const NOT_CANCELABLE = 'operation-not-cancelable'

/** What the client was told is true at the provider: by the money that moved for the one payment. */
async function checkCancellation({ lane, sender, history }: Merchant): Promise<Violation[]> {
  const canceled = history.operations.find(({ isCanceled }) => isCanceled === true)
  if (canceled === undefined) return []
  const { key, content } = canceled
  const path = { params: { path: { key } } }
  const { cancellation } = unwrap(await sender.client.GET('/v1/idempotency-keys/{key}', path))
  const { data: payments } = unwrap(await sender.client.GET('/v1/payments'))
  const executed = (await lane.provider.listExecuted()).filter(({ metadata }) =>
    payments.some(({ id }) => id === metadata['atomic_payment']),
  )
  const refunds = ofKind(executed, 'refund.create')
  const captured = sumOf(ofKind(executed, 'payment_intent.capture'))
  const left = captured - sumOf(refunds)
  const isHeld = payments.some(({ status }) => status === 'requires_capture')
  const isWithoutEffect = {
    'payment.create': executed.length === 0,
    'payment.capture': captured === 0,
    'refund.create': refunds.length === 0,
  }
  const isOfMoney = content.kind === 'payment.create' || content.kind === 'payment.capture'
  const isTrue = {
    prevented: isWithoutEffect[content.kind as keyof typeof isWithoutEffect],
    undone: isOfMoney && !isHeld && left === 0 && refunds.length <= 1,
    refused: isOfMoney ? left === captured && captured > 0 : refunds.length === 1,
    nothing_to_undo: isWithoutEffect[content.kind as keyof typeof isWithoutEffect],
    in_progress: false,
  }
  // A completed refund was not canceled.
  if (cancellation === null ? refunds.length === 1 : isTrue[cancellation]) return []
  const what = `the cancellation is ${String(cancellation)}: ${captured} captured, ${refunds.length} refunds, ${left} left`
  return [{ invariant: 5, what }]
}
