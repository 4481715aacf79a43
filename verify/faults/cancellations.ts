// The scenarios of a client that cancels its idempotency key: after the operation, at the same time,
// and when the provider refuses the refund.
import { randomInt } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { readProblem, unwrap } from '../../client/errors.ts'
import { ofKind, sumOf } from '../simulate/facts.ts'
import type { Operation } from '../simulate/history.ts'
import { PAYMENT } from './contests.ts'
import { findPayment, until } from './event-scenarios.ts'
import type { Merchant, Wanted } from './merchant.ts'
import { AUTOMATIC, MANUAL, paid } from './payments.ts'
import type { Violation } from './results.ts'
import type { Scenario } from './scenario.ts'

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
