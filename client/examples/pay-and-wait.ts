// Charges a card for an order and waits for the result. Run it again after a crash, as often as you like:
// the order has one key, and so one charge.
// `API_KEY=sk_... ORDER=order-1 node client/examples/pay-and-wait.ts`
import { unwrap } from '../errors.ts'
import type { Client, Payment } from '../index.ts'
import { getOrCreateKey } from './stored-keys.ts'
import { clientFromEnvironment, keysFolder, orderFromEnvironment, runExample } from './settings.ts'

export interface Order {
  readonly id: string
  /** In cents. */
  readonly amount: number
  readonly paymentMethod: string
}

/** @throws ApiError `payment-declined` when the card was declined, which is as final as a success. */
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
    // 202: accepted, and not done yet. The same call again is how one waits on.
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
