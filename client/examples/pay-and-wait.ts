// Charges a card for an order and waits for the result. It is safe to run it again after a crash:
// the order has one stored key, and one key charges at most once.
// `API_KEY=sk_... ORDER=order-1 node client/examples/pay-and-wait.ts`
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

/** @throws ApiError `payment-declined` if the card was declined. A decline is final. */
export async function payAndWait(
  client: Client,
  order: Order,
  idempotencyKey: string,
): Promise<Payment> {
  for (;;) {
    const answer = await client.POST('/v1/payments', {
      idempotencyKey,
      params: { header: { Prefer: 'wait=20' } },
      body: {
        amount: order.amount,
        currency: 'usd',
        payment_method: order.paymentMethod,
        metadata: { order: order.id },
      },
    })
    // 202: accepted and still running. The same call waits for the result.
    if (answer.response.status !== 202) return unwrap(answer)
  }
}

if (import.meta.main) {
  await runExample(async () => {
    const client = clientFromEnvironment()
    const order = orderFromEnvironment()
    const key = await getOrCreateKey(keysFolder(), order.id)
    const payment = await payAndWait(client, order, key)
    process.stdout.write(`${payment.id} ${payment.status}\n`)
  })
}
