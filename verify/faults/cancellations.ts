// The scenarios of a client that cancels its idempotency key: after the payment, and at the same time.
import { keepAnswer } from '../simulate/traffic.ts'
import { beginPayment } from './contests.ts'
import { until } from './event-scenarios.ts'
import { FIRST_KEY, type Merchant } from './merchant.ts'
import { AUTOMATIC } from './payments.ts'
import type { Violation } from './results.ts'
import type { Scenario } from './scenario.ts'

export const cancelAfterwards: Scenario = {
  name: 'payment.create.canceled',
  act: async (merchant) => {
    await merchant.pay(AUTOMATIC)
    await cancelKey(merchant)
  },
  check: checkUndone,
}

/** The payment and its cancellation race, so its points are not swept. */
export const cancelAtOnce: Scenario = {
  name: 'payment.create.canceled-at-once',
  act: async (merchant) => {
    const operation = beginPayment(merchant)
    const { content, key } = operation
    const options = { patience: 'wait', signal: merchant.signal } as const
    const sent = merchant.sender.send(content, key, options)
    const [answer] = await Promise.all([sent, cancelKey(merchant)])
    keepAnswer(operation, answer)
  },
  check: checkUndone,
}

/** Repeats the request, which is safe, until the cancellation has ended. */
async function cancelKey(merchant: Merchant): Promise<void> {
  const { sender, signal, history } = merchant
  for (const operation of history.operations) operation.isCanceled = true
  const path = { params: { path: { key: FIRST_KEY } }, signal }
  const isEnded = async () => {
    const reply = await sender.client
      .POST('/v1/idempotency-keys/{key}/cancel', path)
      // Without an answer, the cancellation may have begun.
      .catch(() => undefined)
    signal.throwIfAborted()
    return reply?.data !== undefined && reply.data.cancellation !== 'in_progress'
  }
  await until(merchant, isEnded, 'the cancellation of the key has not ended')
}

/** The money of each captured payment is returned by one refund, and no other payment has any. */
async function checkUndone({ lane, sender }: Merchant): Promise<Violation[]> {
  const { data } = await sender.client.GET('/v1/payments', { params: { query: { limit: 10 } } })
  const executed = await lane.provider.listExecuted()
  return (data?.data ?? []).flatMap(({ id, status, amount_captured: captured }) => {
    const own = executed.filter(({ metadata }) => metadata['atomic_payment'] === id)
    const amounts = own.filter(({ kind }) => kind === 'refund.create').map(({ amount }) => amount)
    const isRefunded = amounts.length === 1 && amounts[0] === captured
    const isUndone = captured === 0 ? status !== 'requires_capture' : isRefunded
    const what = `${id} is ${status}: ${amounts.length} refunds of ${captured} captured`
    return isUndone ? [] : [{ invariant: 1, what }]
  })
}
