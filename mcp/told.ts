// What a tool tells an agent: one word, sentences that cannot be misread, and the resource.
import { z } from 'zod'
import type { Payment, Refund } from '../client/index.ts'

/** What is known about the call. */
const OUTCOMES = [
  'succeeded',
  'held',
  'action_required',
  'declined',
  'canceled',
  'nothing_happened',
  'not_known_yet',
  'refused',
  'found',
  'not_found',
] as const

export interface Told {
  readonly outcome: (typeof OUTCOMES)[number]
  readonly message: string
  readonly payment?: Payment
  readonly refund?: Refund
  /** What was asked and is not so of the payment or refund that stands. */
  readonly differences?: readonly Difference[]
  /** Anything else that a reading tool has found. */
  readonly found?: unknown
}

interface Difference {
  readonly field: string
  readonly asked: unknown
  readonly stands: unknown
}

/** A resource is not described further: an answer that this schema refused would hide a charge. */
const resource = z.record(z.string(), z.unknown())

/** The schema of what each tool answers. */
export const toldShape = {
  outcome: z.enum(OUTCOMES),
  message: z.string().describe('What it means, and what to do next.'),
  payment: resource.optional().describe('The payment as it stands, as the API shows it.'),
  refund: resource.optional().describe('The refund as it stands, as the API shows it.'),
  differences: z
    .array(z.object({ field: z.string(), asked: z.unknown(), stands: z.unknown() }))
    .optional()
    .describe('What was asked and is not so of the payment or refund that stands.'),
  found: z.unknown().optional().describe('The steps of a payment, oldest first.'),
}

/**
 * Says when what stands is not what was asked: the reference belongs to another amount, for example.
 *
 * @param asked members of the payment or refund. Those that are undefined were left open.
 */
export function tellDifferences(told: Told, asked: Partial<Payment> | Partial<Refund>): Told {
  const stands: Partial<Record<string, unknown>> = { ...(told.payment ?? told.refund) }
  const differences = Object.entries(asked)
    .filter(([field, value]) => value !== undefined && value !== stands[field])
    .map(([field, value]) => ({ field, asked: value, stands: stands[field] }))
  if (differences.length === 0) return told
  const show = (of: 'asked' | 'stands') =>
    differences.map((difference) => `${difference.field} ${String(difference[of])}`).join(', ')
  const message = `Refused: what stands differs from what you asked for. Asked: ${show('asked')}. Stands: ${show('stands')}. This call executed nothing. Another order needs a reference of its own. Of what stands: ${told.message}`
  return { ...told, message, differences }
}

/** How an agent names the payment or refund in its next call. */
export interface Subject {
  /** `pay` or `refund`. */
  readonly verb: 'pay' | 'refund'
  /** The arguments of look_up, in words. */
  readonly lookUp: string
  readonly attempt: number
}

/** The outcome of a call that may have moved money. */
export function notKnownYet({ verb, lookUp }: Subject): Told {
  const message = `The outcome is not known yet. Do not ${verb} again, not with another reference or attempt either. Call look_up with ${lookUp} in a few seconds.`
  return { outcome: 'not_known_yet', message }
}

export function tellPayment(payment: Payment, subject: Subject): Told {
  switch (payment.status) {
    case 'succeeded':
      return {
        outcome: 'succeeded',
        message: `Paid: the card was charged ${moneyOf(payment.amount_captured, payment)} once. Do not pay again.`,
        payment,
      }
    case 'requires_capture':
      return {
        outcome: 'held',
        message: `The money is held on the card, and not charged yet. Do not pay again. Call capture to charge it, or cancel to release it.`,
        payment,
      }
    case 'requires_action':
      return {
        outcome: 'action_required',
        message: `The cardholder must authenticate. Nothing is charged yet. Do not pay again. Tell the cardholder, and call look_up with ${subject.lookUp} later, or call cancel.`,
        payment: withoutSecret(payment),
      }
    case 'declined':
      return { outcome: 'declined', message: ended('declined', payment, subject), payment }
    case 'canceled':
      return { outcome: 'canceled', message: ended('canceled', payment, subject), payment }
    case 'failed':
      return { ...nothingHappened(subject), payment }
    // `processing`, `unknown`, and what a later version of the API may add.
    default:
      return { ...notKnownYet(subject), payment }
  }
}

export function tellRefund(refund: Refund, subject: Subject): Told {
  switch (refund.status) {
    case 'succeeded':
      return {
        outcome: 'succeeded',
        message: `Refunded: ${moneyOf(refund.amount, refund)} were returned once. Do not refund again.`,
        refund,
      }
    case 'pending':
    case 'requires_action':
      return {
        outcome: 'not_known_yet',
        message: `The provider has accepted the refund and has not ended it yet. Do not refund again. Call look_up with ${subject.lookUp} later.`,
        refund,
      }
    case 'declined':
    case 'canceled':
      return { outcome: refund.status, message: ended(refund.status, refund, subject), refund }
    case 'failed':
      return refund.failure === null
        ? { ...nothingHappened(subject), refund }
        : { outcome: 'declined', message: ended('declined', refund, subject), refund }
    default:
      return { ...notKnownYet(subject), refund }
  }
}

/** It is proved, or stated by operators, that nothing was executed, and the same call goes on. */
export function nothingHappened({ verb }: Subject): Told {
  const message = `Nothing was executed, by the provider's answer or by the word of an operator. Call ${verb} again with exactly the same arguments, and not with others.`
  return { outcome: 'nothing_happened', message }
}

function ended(how: string, { failure }: Payment | Refund, { verb, attempt }: Subject): string {
  const why = failure === null ? '' : ` (${failure.code})`
  return `This attempt was ${how}${why}, and no money is charged or returned by it. That is final. To try again, call ${verb} with the same reference and attempt ${attempt + 1}.`
}

const moneyOf = (amount: number, { currency }: Payment | Refund): string =>
  `${amount} ${currency} (in minor units)`

/** The client secret is for the page of the cardholder, not for the log of an agent. */
function withoutSecret({ next_action: _secret, ...payment }: Payment): Payment {
  return payment
}
