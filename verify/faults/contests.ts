// Contests: scenarios in which requests compete for one key or one amount, or the service needs
// patience. The order of concurrent messages differs from run to run, so their points are not
// swept; they show mutants.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as wait } from 'node:timers/promises'
import {
  LABEL_FIELD,
  RUN_FIELD,
  type Operation,
  type PaymentBody,
  type RefusedRequest,
  type RequestContent,
} from '../simulate/history.ts'
import { awaitFinalAnswers } from '../simulate/await-final-answers.ts'
import { keepAnswer } from '../simulate/traffic.ts'
import { idsIn } from './ids-in.ts'
import type { Lane } from './lane.ts'
import type { Scenario } from './scenario.ts'
import { keyOf, RECOVERY_LIMIT_SECONDS, Merchant, NoFinalAnswerError } from './merchant.ts'

export const PAYMENT = {
  amount: 2_500,
  currency: 'usd',
  payment_method: 'pm_card_visa',
  capture_method: 'automatic',
} as const

export const contests: readonly Scenario[] = [
  { name: 'payment.create.at-once', act: payTwiceAtOnce },
  { name: 'payment.create.reused-key', act: reuseKey },
  { name: 'payment.create.card-number', act: sendCardNumber },
  { name: 'payment.create.unwelcome', act: payUnwelcome },
  { name: 'payment.create.unclear', act: payUnclear },
  { name: 'payment.create.overheard', act: payOverheard },
  { name: 'refund.create.at-once', prepare: makePayment, act: refundTwiceAtOnce },
]

async function payTwiceAtOnce(merchant: Merchant): Promise<void> {
  const operation = beginPayment(merchant)
  await Promise.all([send(merchant, operation), send(merchant, operation)])
  await untilAllAnswered(merchant)
}

async function reuseKey(merchant: Merchant): Promise<void> {
  const { key } = await pay(merchant)
  const body = { ...PAYMENT, amount: PAYMENT.amount + 1, ...tagOf(merchant, 'other') }
  await sendRefused(
    merchant,
    { kind: 'payment.create', body },
    { why: 'reuse', key, label: 'other' },
  )
}

/** A test card number, as a person may write it. */
const CARD_NUMBER = '4242 4242 4242 4242'

async function sendCardNumber(merchant: Merchant): Promise<void> {
  const { metadata } = tagOf(merchant, 'card')
  const body = { ...PAYMENT, metadata: { ...metadata, note: CARD_NUMBER } }
  const refused = { why: 'invalid', key: 'card', label: 'card' } as const
  await sendRefused(merchant, { kind: 'payment.create', body }, refused)
}

/** More than the calls of a service whose settings make it give up early. */
const REJECTIONS = 4

/** A completed key has a response: a client without an answer after this time never gets one. */
const ANSWER_LIMIT_MS = 3_000
const POLL_MS = 50

/** The provider rejects the first calls, so that the client has to retry. */
async function payUnwelcome(merchant: Merchant): Promise<void> {
  const { provider } = merchant.lane
  const match = { method: 'POST', path: '/v1/payment_intents' } as const
  await provider.plantFault({ match, fault: 'rate_limited', times: REJECTIONS })
  const operation = beginPayment(merchant)
  const waiting = new AbortController()
  const sent = send(merchant, operation, waiting.signal)
  let completedAt = Infinity
  await poll(RECOVERY_LIMIT_SECONDS * 1_000, async () => {
    if (completedAt === Infinity && (await isCompleted(merchant))) completedAt = performance.now()
    return operation.answers.length > 0 || performance.now() - completedAt > ANSWER_LIMIT_MS
  })
  waiting.abort()
  await sent
  await provider.removeFaults()
}

async function isCompleted({ lane, tenant }: Merchant): Promise<boolean> {
  const rows = await lane.owner.sql`
    select from idempotency_keys where tenant_id = ${tenant.id} and status = 'completed'
  `
  return rows.length > 0
}

/** Whether the condition became true in time. */
async function poll(limitMs: number, condition: () => Promise<boolean>): Promise<boolean> {
  const endsAt = performance.now() + limitMs
  while (performance.now() < endsAt) {
    if (await condition()) return true
    await wait(POLL_MS)
  }
  return false
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
  const operation = beginPayment(merchant)
  const waiting = new AbortController()
  const sent = send(merchant, operation, waiting.signal)
  const isOver = async () => operation.answers.length > 0 || (await isFindingDue(merchant))
  await poll(RECOVERY_LIMIT_SECONDS * 1_000, isOver)
  const isKnown = operation.answers.length > 0 || (await isFindingOpen(merchant))
  await provider.removeFaults()
  merchant.healedAt = performance.now()
  if (!isKnown) waiting.abort()
  await sent
  if (isKnown) await untilAllAnswered(merchant)
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

async function makePayment(merchant: Merchant): Promise<string> {
  const { answers } = await pay(merchant)
  return answers[0]?.resource.id ?? ''
}

/** Deliveries are sent at the next poll. */
const DELIVERY_LIMIT_MS = 10_000

/** Another tenant subscribes to all events, and must receive those of its own payments only. */
async function payOverheard(merchant: Merchant): Promise<void> {
  const { lane, signal } = merchant
  const received: string[] = []
  const receiver = createServer((request, response) => {
    void text(request).then((body) => received.push(body))
    response.end()
  }).listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  try {
    const other = new Merchant(lane, await lane.createTenant(), signal)
    await subscribe(other, (receiver.address() as AddressInfo).port)
    await pay(merchant)
    const own = (await other.pay(PAYMENT)).resource.id ?? ''
    const hasReceived = await poll(
      DELIVERY_LIMIT_MS,
      async () => received.some((body) => body.includes(own)) && (await isDelivered(lane)),
    )
    if (!hasReceived) throw new Error('an endpoint did not receive the event of its own payment')
    for (const id of received.flatMap(idsIn).filter((heardOf) => merchant.known.has(heardOf))) {
      merchant.violations.push({
        invariant: 9,
        what: `the endpoint of another tenant received ${id}`,
      })
    }
  } finally {
    receiver.close()
    receiver.closeAllConnections()
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
    begin(merchant, (tag) => ({
      kind: 'refund.create',
      paymentId,
      body: { amount: SHARE, ...tag },
    })),
  )
  await Promise.all(refunds.map((refund) => send(merchant, refund)))
  await untilAllAnswered(merchant)
}

async function pay(merchant: Merchant): Promise<Operation> {
  const operation = beginPayment(merchant)
  await send(merchant, operation)
  await untilAllAnswered(merchant)
  return operation
}

export function beginPayment(merchant: Merchant): Operation {
  return begin(merchant, (tag) => ({ kind: 'payment.create', body: { ...PAYMENT, ...tag } }))
}

type Tag = Pick<PaymentBody, 'metadata'>

/** From here on the history contains the operation, even if its request gets no answer. */
export function begin(merchant: Merchant, contentOf: (tag: Tag) => RequestContent): Operation {
  const { operations } = merchant.history
  const label = String(operations.length + 1)
  const content = contentOf(tagOf(merchant, label))
  const operation = { content, key: keyOf(label), label, answers: [], pending: undefined }
  operations.push(operation)
  return operation
}

export function tagOf({ history }: Merchant, label: string): Tag {
  return { metadata: { [RUN_FIELD]: history.run, [LABEL_FIELD]: label } }
}

export async function send(
  { sender, signal }: Merchant,
  operation: Operation,
  own: AbortSignal = signal,
): Promise<void> {
  const { content, key } = operation
  keepAnswer(operation, await sender.send(content, key, { patience: 'wait', signal: own }))
}

export async function sendRefused(
  { sender, history }: Merchant,
  content: RequestContent,
  refused: Omit<RefusedRequest, 'answer'>,
): Promise<void> {
  const answer = await sender.send(content, refused.key, { patience: 'wait' })
  history.refused.push({ ...refused, answer })
}

export async function untilAllAnswered({ sender, history, signal }: Merchant): Promise<void> {
  const seconds = RECOVERY_LIMIT_SECONDS
  await awaitFinalAnswers({
    sender,
    history,
    concurrency: 2,
    seconds,
    signal,
    progressed: () => {},
  })
  if (history.operations.some(({ answers }) => answers.length === 0)) {
    throw new NoFinalAnswerError('an operation has no final answer')
  }
}
