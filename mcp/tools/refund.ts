// The tool `refund`: returns money of a payment once for what its reference names.
import { z } from 'zod'
import { unwrap } from '../../client/errors.ts'
import type { Client, Refund } from '../../client/index.ts'
import { amountField, attemptField, paymentIdField, refundReferenceField } from '../fields.ts'
import { keyOfRefund } from '../keys.ts'
import { isTaken, problemOf, tellError } from '../refusals.ts'
import { tellDifferences, tellRefund, type Subject, type Told } from '../told.ts'
import { defineTool, moves } from '../tool.ts'

const input = {
  payment_id: paymentIdField,
  reference: refundReferenceField,
  amount: amountField.optional().describe('In minor units. By default all that is left.'),
  reason: z.enum(['duplicate', 'fraudulent', 'requested_by_customer']).optional(),
  attempt: attemptField,
}

type RefundInput = z.output<z.ZodObject<typeof input>>

export const refundTool = defineTool({
  name: 'refund',
  description:
    'Returns all or a part of a captured payment, once for its reference: repeating the call with the same arguments is safe. A second return of money, for example of another item, needs a reference of its own. A refund cannot be taken back.',
  annotations: { title: 'Refund', ...moves },
  input,
  run: async (client, asked: RefundInput) => {
    const subject = subjectOfRefund(asked.reference, asked.attempt)
    try {
      return (await findMade(client, asked)) ?? tellRefund(await create(client, asked), subject)
    } catch (error) {
      const { refund } = problemOf(error)
      if (refund !== undefined) return tellRefund(refund, subject)
      if (!isTaken(error)) return tellError(error, subject)
      return await readEarlier(client, asked, error, subject)
    }
  },
})

const subjectOfRefund = (reference: string, attempt: number): Subject => ({
  verb: 'refund',
  lookUp: `refund_reference ${JSON.stringify(reference)}`,
  attempt,
})

const ENDED = ['declined', 'canceled', 'failed']

/** The refunds of a reference, as they stand; the first attempt comes first. */
export async function toldRefunds(
  client: Client,
  reference: string,
): Promise<readonly { readonly refund: Refund; readonly told: Told }[]> {
  const query = { reference, limit: 100 }
  const { data } = unwrap(await client.GET('/v1/refunds', { params: { query } }))
  return data.toReversed().map((refund, index) => {
    return { refund, told: tellRefund(refund, subjectOfRefund(reference, index + 1)) }
  })
}

/** What earlier calls have made, also those whose key is forgotten. */
async function findMade(client: Client, asked: RefundInput): Promise<Told | undefined> {
  const made = await toldRefunds(client, asked.reference)
  const standing = made.find(({ refund }) => !ENDED.includes(refund.status))
  if (standing !== undefined) return tellDifferences(standing.told, termsOf(asked))
  const same = made[asked.attempt - 1]
  if (same === undefined) return undefined
  const told = tellDifferences(same.told, termsOf(asked))
  // One that the service gave up goes on with the same call.
  const goesOn = same.refund.status === 'failed' && same.refund.failure === null
  return goesOn && told.differences === undefined ? undefined : told
}

const termsOf = ({ payment_id: payment, amount }: RefundInput) => ({
  payment,
  ...(amount === undefined ? {} : { amount }),
})

async function create(client: Client, asked: RefundInput): Promise<Refund> {
  const { payment_id: id, reference, attempt, amount, reason } = asked
  const body = {
    reference,
    ...(amount === undefined ? {} : { amount }),
    ...(reason === undefined ? {} : { reason }),
  }
  const idempotencyKey = keyOfRefund(reference, attempt)
  const params = { path: { id } }
  return unwrap(await client.POST('/v1/payments/{id}/refunds', { idempotencyKey, params, body }))
}

/** The refund that uses the key or the reference, perhaps one of another payment. */
async function readEarlier(
  client: Client,
  asked: RefundInput,
  refusal: unknown,
  subject: Subject,
): Promise<Told> {
  try {
    const { earlier: id } = problemOf(refusal)
    if (id === undefined) return (await findMade(client, asked)) ?? tellError(refusal, subject)
    const refund = unwrap(await client.GET('/v1/refunds/{id}', { params: { path: { id } } }))
    const told = tellRefund(refund, { ...subject, lookUp: `refund_id ${id}` })
    return tellDifferences(told, termsOf(asked))
  } catch (error) {
    return tellError(error, subject)
  }
}
