// The tool `pay`: charges a card once for what its reference names.
import { z } from 'zod'
import { unwrap } from '../../client/errors.ts'
import type { Client, Payment } from '../../client/index.ts'
import { amountField, attemptField, referenceField } from '../fields.ts'
import { keyOfPayment } from '../keys.ts'
import { problemOf, tellError } from '../refusals.ts'
import { tellPayment, type Subject, type Told } from '../told.ts'
import { defineTool, moves } from '../tool.ts'

const input = {
  reference: referenceField,
  amount: amountField.describe('In minor units, such as cents: 1999 is 19.99 USD.'),
  currency: z
    .string()
    .regex(/^[a-z]{3}$/)
    .describe('ISO 4217, in lower case.'),
  payment_method: z
    .string()
    .min(1)
    .max(255)
    .describe("The provider's id of the payment method. Never a card number."),
  customer: z.string().min(1).max(255).optional().describe("The provider's id of the customer."),
  description: z.string().max(1000).optional(),
  capture: z
    .enum(['automatic', 'manual'])
    .default('automatic')
    .describe('manual: only hold the money, and call capture later.'),
  attempt: attemptField,
}

type PayInput = z.output<z.ZodObject<typeof input>>

export const payTool = defineTool({
  name: 'pay',
  description:
    'Charges a card for one order, named by its reference. The card is charged at most once for a reference, however often and from wherever you call this: repeating the call with the same arguments is safe, and is what to do after a crash or a lost answer. If the answer says that the outcome is not known yet, do not pay in another way.',
  annotations: { title: 'Pay', ...moves },
  input,
  run: async (client, asked: PayInput) => {
    const subject = subjectOf(asked.reference, asked.attempt)
    try {
      return (await findMade(client, asked)) ?? tellPayment(await create(client, asked), subject)
    } catch (error) {
      const { payment, earlier } = problemOf(error)
      if (payment !== undefined) return tellPayment(payment, subject)
      if (earlier === undefined) return tellError(error, subject)
      return await findStanding(client, asked.reference, subject)
    }
  },
})

export const subjectOf = (reference: string, attempt: number): Subject => ({
  verb: 'pay',
  lookUp: `reference ${JSON.stringify(reference)}`,
  attempt,
})

/** The payments of a reference; the first attempt comes first. */
export async function paymentsOf(client: Client, reference: string): Promise<readonly Payment[]> {
  const query = { reference, limit: 100 }
  const { data } = unwrap(await client.GET('/v1/payments', { params: { query } }))
  return data.toReversed()
}

const ENDED = ['declined', 'canceled', 'failed']

/** The payment that may charge, and which attempt it was. */
export function standingOf(payments: readonly Payment[]): Told | undefined {
  const index = payments.findIndex(({ status }) => !ENDED.includes(status))
  const payment = payments[index]
  return payment && tellPayment(payment, subjectOf(payment.reference ?? '', index + 1))
}

/**
 * What earlier calls have made. A key is forgotten after a day, a payment never: so the same call does
 * nothing more, even later.
 */
async function findMade(
  client: Client,
  { reference, attempt }: PayInput,
): Promise<Told | undefined> {
  const payments = await paymentsOf(client, reference)
  const standing = standingOf(payments)
  if (standing !== undefined) return standing
  const made = payments[attempt - 1]
  // A failed payment goes on with the same call.
  if (made === undefined || made.status === 'failed') return undefined
  return tellPayment(made, subjectOf(reference, attempt))
}

async function create(client: Client, asked: PayInput): Promise<Payment> {
  const { reference, attempt, capture, customer, description, ...others } = asked
  const body = {
    ...others,
    reference,
    capture_method: capture,
    ...(customer === undefined ? {} : { customer }),
    ...(description === undefined ? {} : { description }),
  }
  const idempotencyKey = keyOfPayment(reference, attempt)
  return unwrap(await client.POST('/v1/payments', { idempotencyKey, body }))
}

/** Another call was faster: its payment is the one of the reference. */
async function findStanding(client: Client, reference: string, subject: Subject): Promise<Told> {
  try {
    const standing = standingOf(await paymentsOf(client, reference))
    if (standing !== undefined) return standing
    const message = `Another payment of this reference has just ended without a charge. Call look_up with ${subject.lookUp}.`
    return { outcome: 'refused', message }
  } catch (error) {
    return tellError(error, subject)
  }
}
