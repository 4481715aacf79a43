// Starts a payment without waiting for it, then polls until it has a result.
// `API_KEY=sk_... ORDER=order-2 node client/examples/pay-and-poll.ts`
import { setTimeout } from 'node:timers/promises'
import { unwrap } from '../errors.ts'
import type { Client, Payment } from '../index.ts'
import { getOrCreateKey } from './stored-keys.ts'
import {
  clientFromEnvironment,
  keysFolder,
  orderFromEnvironment,
  runExample,
  type Order,
} from './settings.ts'

/**
 * Returns once the service has accepted the payment. The service completes it even after a crash.
 */
export async function startPayment(
  client: Client,
  order: Order,
  idempotencyKey: string,
): Promise<Payment> {
  const answer = await client.POST('/v1/payments', {
    idempotencyKey,
    params: { header: { Prefer: 'respond-async' } },
    body: {
      amount: order.amount,
      currency: 'usd',
      payment_method: order.paymentMethod,
      metadata: { order: order.id },
    },
  })
  return unwrap(answer)
}

/** In these statuses the service is still working on the payment. */
const PENDING_STATUSES: readonly Payment['status'][] = ['processing', 'unknown']

/**
 * Returns the payment once the service has finished it, or once it waits for the shop or the
 * customer.
 */
export async function pollPayment(
  client: Client,
  id: string,
  { everyMs = 1_000, signal = AbortSignal.timeout(60_000) } = {},
): Promise<Payment> {
  for (;;) {
    const payment = unwrap(
      await client.GET('/v1/payments/{id}', { params: { path: { id } }, signal }),
    )
    if (!PENDING_STATUSES.includes(payment.status)) return payment
    await setTimeout(everyMs, undefined, { signal })
  }
}

if (import.meta.main) {
  await runExample(async () => {
    const client = clientFromEnvironment()
    const order = orderFromEnvironment()
    const started = await startPayment(client, order, await getOrCreateKey(keysFolder(), order.id))
    process.stdout.write(`${started.id} ${started.status}\n`)
    const payment = await pollPayment(client, started.id)
    process.stdout.write(`${payment.id} ${payment.status}\n`)
  })
}
