// The tools `capture` and `cancel`: charge or release money that is held.
import { z } from 'zod'
import { unwrap } from '../../client/errors.ts'
import type { Client, Payment } from '../../client/index.ts'
import { amountField, paymentIdField } from '../fields.ts'
import { keyOfCancel, keyOfCapture } from '../keys.ts'
import { problemOf, tellError } from '../refusals.ts'
import { tellPayment, type Subject, type Told } from '../told.ts'
import { defineTool, moves } from '../tool.ts'

const captureInput = {
  payment_id: paymentIdField,
  amount: amountField
    .optional()
    .describe('In minor units. By default all that is held. What is not captured is released.'),
}

export const captureTool = defineTool({
  name: 'capture',
  description:
    'Charges money that a payment holds. Repeating the call with the same arguments is safe: it charges once. A capture cannot be taken back, only refunded.',
  annotations: { title: 'Capture', ...moves },
  input: captureInput,
  run: async (client, { payment_id: id, amount }: z.output<z.ZodObject<typeof captureInput>>) =>
    await change(client, id, async () =>
      unwrap(
        await client.POST('/v1/payments/{id}/capture', {
          idempotencyKey: keyOfCapture(id, amount),
          params: { path: { id } },
          body: amount === undefined ? {} : { amount },
        }),
      ),
    ),
})

const cancelInput = { payment_id: paymentIdField }

export const cancelTool = defineTool({
  name: 'cancel',
  description:
    'Releases money that a payment holds, without charging it. Repeating the call is safe. A canceled payment cannot be captured any more. A payment that was charged cannot be canceled: call refund.',
  annotations: { title: 'Cancel', ...moves },
  input: cancelInput,
  run: async (client, { payment_id: id }: z.output<z.ZodObject<typeof cancelInput>>) =>
    await change(client, id, async () =>
      unwrap(
        await client.POST('/v1/payments/{id}/cancel', {
          idempotencyKey: keyOfCancel(id),
          params: { path: { id } },
          body: {},
        }),
      ),
    ),
})

export const subjectOfPayment = (id: string): Subject => ({
  verb: 'pay',
  lookUp: `payment_id ${id}`,
  attempt: 1,
})

/** Tells the payment after the change. When its state refuses the change, it tells that state. */
async function change(client: Client, id: string, send: () => Promise<Payment>): Promise<Told> {
  const subject = subjectOfPayment(id)
  try {
    const { id: changed } = await send()
    return tellPayment(await readPayment(client, changed), subject)
  } catch (error) {
    const { payment } = problemOf(error)
    if (payment !== undefined) return tellPayment(payment, subject)
    return tellError(error, subject)
  }
}

/** A replayed answer is the one of that time: what counts is the state now. */
export async function readPayment(client: Client, id: string): Promise<Payment> {
  return unwrap(await client.GET('/v1/payments/{id}', { params: { path: { id } } }))
}
