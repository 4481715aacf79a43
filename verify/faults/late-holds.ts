// The scenarios of a hold that the provider completed after its payment went on without it. Only an
// event or a reconciliation tells the service, which has to release the hold.
import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { withRelay } from './event-relay.ts'
import { findPayment, readIntentStatus, until } from './event-scenarios.ts'
import type { Merchant } from './merchant.ts'
import { AUTOMATIC, CREATION, paid } from './payments.ts'
import { compare, hoursFrom, windowStart } from './reconcile.ts'
import type { Violation } from './results.ts'
import type { Scenario } from './scenario.ts'

/** Its points are covered like those of every other operation. */
export const releaseHold: Scenario = {
  name: 'hold.release',
  prepare: paid(AUTOMATIC),
  act: holdAgain,
  check: checkPaid,
}

/** The events are lost, and the provider completes the authorization after the payment ended. */
export const releaseLateHold: Scenario = {
  name: 'hold.release.late',
  act: payWithLateHold,
  check: checkPaid,
}

const HELD = 'payment_intent.amount_capturable_updated'

/** The provider holds the money again, as for a call under an earlier key. */
async function holdAgain(merchant: Merchant): Promise<void> {
  await withRelay(merchant, [HELD], async (relay) => {
    const late = await authorizeAgain(merchant)
    await relay.untilAccepted(HELD)
    await untilReleased(merchant, late)
  })
}

async function authorizeAgain(merchant: Merchant): Promise<string> {
  const { lane } = merchant
  const { intentId } = await findPayment(merchant)
  const { amount, currency, metadata } = (await lane.provider.control(
    'GET',
    `objects/${intentId}`,
  )) as { amount: number; currency: string; metadata: Record<string, string> }
  const parameters = new URLSearchParams({
    amount: String(amount),
    currency,
    confirm: 'true',
    return_url: 'https://example.com/',
    capture_method: 'manual',
    payment_method: AUTOMATIC.payment_method,
    'allowed_payment_method_types[]': 'card',
  })
  for (const [name, value] of Object.entries(metadata)) {
    parameters.set(`metadata[${name}]`, value)
  }
  return await send(merchant, parameters)
}

/** Longer than a usual answer. A kind of provider may leave the first request without one. */
const ANSWER_LIMIT_MS = 1_000
const TRIES = 20

/** Repeats the request under one provider key until it has an answer, and returns the id in it. */
async function send({ lane, signal }: Merchant, body: URLSearchParams): Promise<string> {
  const headers = { authorization: `Bearer ${lane.secrets[0]}`, 'idempotency-key': randomUUID() }
  for (let tries = 1; tries <= TRIES; tries += 1) {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_LIMIT_MS)])
    const request = { method: 'POST', headers, body, signal: limit }
    const answer = await fetch(`${lane.providerUrl}/v1/payment_intents`, request)
      .then(async (response) => (await response.json()) as { id?: string })
      .catch(() => undefined)
    if (answer?.id !== undefined) return answer.id
    await wait(POLL_MS, undefined, { signal })
  }
  throw new Error('the provider made no second hold')
}

async function untilReleased(merchant: Merchant, intentId: string): Promise<void> {
  const isReleased = async () => (await readIntentStatus(merchant, intentId)) === 'canceled'
  await until(merchant, isReleased, 'the second hold was not released')
}

const POLL_MS = 40

/** Longer than a run, so that the late request is executed when the faults are removed. */
const LATE_MS = 3_600_000

async function payWithLateHold(merchant: Merchant): Promise<void> {
  const { lane } = merchant
  const from = await windowStart(merchant)
  const late500 = { fault: 'error_500_late', times: 1, delay_ms: LATE_MS }
  await lane.provider.plantFault({ match: CREATION, ...late500 })
  await merchant.pay(AUTOMATIC)
  const { intentId } = await findPayment(merchant)
  await lane.provider.removeFaults()
  const late = (await findHolds(merchant)).find((id) => id !== intentId)
  if (late === undefined) throw new Error('the provider made no second hold')
  await compare(merchant, [{ from, to: hoursFrom(1) }])
  await untilReleased(merchant, late)
}

/** The provider's ids of what it authorized for the run. */
async function findHolds({ lane, history }: Merchant): Promise<string[]> {
  const log = await lane.provider.listExecuted()
  return log
    .filter(({ kind }) => kind === 'payment_intent.confirm' || kind === 'payment_intent.create')
    .filter(({ metadata }) => Object.values(metadata).includes(history.run))
    .map(({ id }) => id)
}

/** The hold that the payment uses was captured, and its payment stays as it was. */
async function checkPaid(merchant: Merchant): Promise<Violation[]> {
  const { status, intentId } = await findPayment(merchant)
  const theirs = await readIntentStatus(merchant, intentId)
  return status === 'succeeded' && theirs === 'succeeded'
    ? []
    : [{ invariant: 5, what: `the payment is ${status}, its intent is ${theirs}` }]
}
