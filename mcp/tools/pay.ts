// The tool `pay`: charges a card once for what its reference names.
import { z } from 'zod'
import { unwrap } from '../../client/errors.ts'
import type { Client, Payment } from '../../client/index.ts'
import { amountField, attemptField, referenceField } from '../fields.ts'
import { keyOfPayment } from '../keys.ts'
import { isTaken, problemOf, tellError } from '../refusals.ts'
import { tellDifferences, tellPayment, type Subject, type Told } from '../told.ts'
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
  capture_method: z
    .enum(['automatic', 'manual'])
    .default('automatic')
    .describe('manual: only hold the money, and call capture later.'),
  off_session: z
    .boolean()
    .optional()
    .describe(
      'true if the customer is absent, as for a renewal. A payment that needs authentication is then declined.',
    ),
  return_url: z
    .string()
    .max(2_048)
    .optional()
    .describe('Where the provider sends a customer back who had to leave to authenticate.'),
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
      const { payment } = problemOf(error)
      if (payment !== undefined) return tellPayment(payment, subject)
      if (!isTaken(error)) return tellError(error, subject)
      return await findStanding(client, asked, error, subject)
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
async function findMade(client: Client, asked: PayInput): Promise<Told | undefined> {
  const { reference, attempt, amount, currency, capture_method } = asked
  const terms = { amount, currency, capture_method }
  const payments = await paymentsOf(client, reference)
  const standing = standingOf(payments)
  if (standing !== undefined) return tellDifferences(standing, terms)
  const made = payments[attempt - 1]
  if (made === undefined) return undefined
  const told = tellDifferences(tellPayment(made, subjectOf(reference, attempt)), terms)
  // A failed payment goes on with the same call.
  return made.status === 'failed' && told.differences === undefined ? undefined : told
}

async function create(client: Client, asked: PayInput): Promise<Payment> {
  const { attempt, customer, description, off_session, return_url, ...others } = asked
  const body = {
    ...others,
    ...(customer === undefined ? {} : { customer }),
    ...(description === undefined ? {} : { description }),
    ...(off_session === undefined ? {} : { off_session }),
    ...(return_url === undefined ? {} : { return_url }),
  }
  const idempotencyKey = keyOfPayment(asked.reference, attempt)
  return unwrap(await client.POST('/v1/payments', { idempotencyKey, body }))
}

/** Another call was faster: its payment is the one of the reference. */
async function findStanding(
  client: Client,
  asked: PayInput,
  refusal: unknown,
  subject: Subject,
): Promise<Told> {
  try {
    return (await findMade(client, asked)) ?? tellError(refusal, subject)
  } catch (error) {
    return tellError(error, subject)
  }
}
