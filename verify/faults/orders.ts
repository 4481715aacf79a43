// The scenarios of one order, or one return, whose client loses its answers and tries again under
// another key each time: a page that is loaded again, an agent that makes a key for each call. The
// reference must keep the provider from executing it twice.
import { setTimeout as wait } from 'node:timers/promises'
import type { Merchant, Wanted } from './merchant.ts'
import { AUTOMATIC, paid } from './payments.ts'
import type { Violation } from './results.ts'
import type { Scenario } from './scenario.ts'

/** Less than the payment, so that its amount does not prevent a second one. */
const RETURNED = 1_000

export const payReferenced: Scenario = {
  name: 'payment.create.referenced',
  act: (merchant) =>
    tryUnderNewKeys(merchant, {
      kind: 'payment.create',
      body: { ...AUTOMATIC, reference: merchant.history.run },
    }),
  check: (merchant) => checkExecutedOnce(merchant, 'payments', 'payment_intent.capture'),
}

export const refundReferenced: Scenario = {
  name: 'refund.create.referenced',
  prepare: paid(AUTOMATIC),
  act: (merchant, paymentId) =>
    tryUnderNewKeys(merchant, {
      kind: 'refund.create',
      paymentId,
      body: { amount: RETURNED, reference: merchant.history.run },
    }),
  check: (merchant) => checkExecutedOnce(merchant, 'refunds', 'refund.create'),
}

const TRIES_MIN = 2
const TRIES_MAX = 20
const PAUSE_MS = 500

/**
 * The client ignores its first answer. It goes on until it hears the result, or that there is an
 * earlier payment or refund.
 */
async function tryUnderNewKeys(merchant: Merchant, wanted: Wanted): Promise<void> {
  const { signal } = merchant
  const sender = merchant.createImpatientSender()
  for (let tries = 1; tries <= TRIES_MAX; tries += 1) {
    const operation = merchant.begin(wanted, 'order')
    await merchant.send(operation, { sender })
    const isAnswered = operation.answers.length > 0
    if (isAnswered && tries >= TRIES_MIN) break
    if (!isAnswered) await wait(PAUSE_MS, undefined, { signal })
  }
  await merchant.untilAllAnswered()
}

/** One was executed, one uses the reference, and each refused request was told of an earlier one. */
async function checkExecutedOnce(
  { history, lane, sender }: Merchant,
  resources: 'payments' | 'refunds',
  executed: string,
): Promise<Violation[]> {
  const reference = history.run
  const log = await lane.provider.listExecuted()
  const own = log.filter(
    ({ kind, metadata }) => kind === executed && metadata['atomic_reference'] === reference,
  )
  const query = { params: { query: { reference } } }
  const { data } =
    resources === 'payments'
      ? await sender.client.GET('/v1/payments', query)
      : await sender.client.GET('/v1/refunds', query)
  const listed: readonly { readonly id: string; readonly status: string }[] = data?.data ?? []
  const using = listed.filter(({ status }) => !WITHOUT_EFFECT.includes(status))
  const ids = new Set(listed.map(({ id }) => id))
  const duplicates = history.operations
    .flatMap(({ answers }) => answers)
    .filter(({ problem }) => problem === 'duplicate-reference')
  const unnamed = duplicates.filter(({ earlier = '' }) => !ids.has(earlier))
  return [
    ...(own.length === 1 ? [] : [{ invariant: 1, what: `${executed}: ${own.length} times` }]),
    ...(using.length === 1 ? [] : [{ invariant: 1, what: `${using.length} use one reference` }]),
    ...unnamed.map(({ earlier }) => ({
      invariant: 9,
      what: `duplicate-reference names ${earlier ?? 'nothing'}, which has not the reference`,
    })),
  ]
}

const WITHOUT_EFFECT = ['declined', 'canceled', 'failed']
