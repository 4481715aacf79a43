// The tools `look_up` and `explain`: read what became of a payment or refund.
import { z } from 'zod'
import { ApiError, unwrap } from '../../client/errors.ts'
import type { Client } from '../../client/index.ts'
import { paymentIdField, referenceField, refundReferenceField } from '../fields.ts'
import { tellError } from '../refusals.ts'
import { tellPayment, tellRefund, type Told } from '../told.ts'
import { defineTool, reads } from '../tool.ts'
import { readPayment, subjectOfPayment } from './capture.ts'
import { paymentsOf, standingOf, subjectOf } from './pay.ts'
import { toldRefunds } from './refund.ts'

const lookUpInput = {
  reference: referenceField.optional(),
  payment_id: paymentIdField.optional(),
  refund_reference: refundReferenceField.optional(),
  refund_id: z
    .string()
    .regex(/^re_[0-9a-z]{26}$/)
    .optional()
    .describe('The id of the refund: re_...'),
}

type LookUpInput = z.output<z.ZodObject<typeof lookUpInput>>

export const lookUpTool = defineTool({
  name: 'look_up',
  description:
    'Tells what became of a payment or refund. It charges and changes nothing. Call it with the reference or payment_id of a payment, or the refund_reference or refund_id of a refund.',
  // An unknown outcome is looked up at the provider when it is read.
  annotations: { title: 'Look up', ...reads, openWorldHint: true },
  input: lookUpInput,
  run: async (client, asked: LookUpInput) => {
    try {
      return await lookUp(client, asked)
    } catch (error) {
      return tellReadError(error)
    }
  },
})

async function lookUp(client: Client, asked: LookUpInput): Promise<Told> {
  if (Object.values(asked).filter((name) => name !== undefined).length !== 1) {
    const message = `Refused: name exactly one of ${Object.keys(lookUpInput).join(', ')}.`
    return { outcome: 'refused', message }
  }
  const { reference, payment_id: paymentId, refund_reference: refund, refund_id: id } = asked
  if (id !== undefined) {
    const found = unwrap(await client.GET('/v1/refunds/{id}', { params: { path: { id } } }))
    return tellRefund(found, { verb: 'refund', lookUp: `refund_id ${id}`, attempt: 1 })
  }
  if (refund !== undefined) {
    const made = await toldRefunds(client, refund)
    return made.at(-1)?.told ?? nothingFound('refund')
  }
  if (paymentId !== undefined) {
    return tellPayment(await readPayment(client, paymentId), subjectOfPayment(paymentId))
  }
  const payments = await paymentsOf(client, reference ?? '')
  const last = payments.at(-1)
  if (last === undefined) return nothingFound('payment')
  return standingOf(payments) ?? tellPayment(last, subjectOf(last.reference ?? '', payments.length))
}

/** A call that is under way may still make one: the same call again makes no second one. */
function nothingFound(kind: 'payment' | 'refund'): Told {
  const verb = kind === 'payment' ? 'pay' : 'refund'
  const message = `No ${kind} has this reference yet. If you called ${verb} for it, call ${verb} again with exactly the same arguments: together they ${verb} once.`
  return { outcome: 'not_found', message }
}

const explainInput = { payment_id: paymentIdField }

export const explainTool = defineTool({
  name: 'explain',
  description:
    'Shows step by step what the service asked the payment provider for a payment, what it answered, and when. It reads only what the service has stored.',
  annotations: { title: 'Explain', ...reads, openWorldHint: false },
  input: explainInput,
  run: async (client, { payment_id: id }: z.output<z.ZodObject<typeof explainInput>>) => {
    try {
      const params = { path: { id } }
      const timeline = unwrap(await client.GET('/v1/payments/{id}/timeline', { params }))
      const steps = timeline.data.map(
        ({ operation, phase, provider, recorded_at: at }) =>
          `${at} ${operation} ${phase ?? 'accepted'}${provider === null ? '' : `: ${provider.outcome}`}`,
      )
      return { outcome: 'found', message: steps.join('\n'), found: timeline.data }
    } catch (error) {
      return tellReadError(error)
    }
  },
})

/** A read that failed says nothing about what it was to read. */
function tellReadError(error: unknown): Told {
  if (error instanceof ApiError && error.problem === 'resource-not-found') {
    return { outcome: 'not_found', message: 'Nothing has this id. Nothing was executed.' }
  }
  const told = tellError(error, { verb: 'pay', lookUp: 'the same arguments', attempt: 1 })
  return told.outcome === 'refused' ? told : { ...told, outcome: 'not_known_yet' }
}
