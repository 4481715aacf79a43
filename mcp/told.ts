// What a tool tells an agent: one word, sentences that cannot be misread, and the resource.
import type { Payment, Refund } from '../client/index.ts'

/** What is known about the call. */
type OutcomeWord =
  | 'succeeded'
  | 'held'
  | 'action_required'
  | 'declined'
  | 'canceled'
  | 'nothing_happened'
  | 'not_known_yet'
  | 'refused'
  | 'found'

export interface Told {
  readonly outcome: OutcomeWord
  readonly message: string
  readonly payment?: Payment
  readonly refund?: Refund
  /** Anything else that a reading tool has found. */
  readonly found?: unknown
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
    case 'processing':
    case 'unknown':
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
    case 'processing':
    case 'unknown':
      return { ...notKnownYet(subject), refund }
  }
}

/** It is proved that nothing was executed, and the same call goes on. */
export function nothingHappened({ verb }: Subject): Told {
  const message = `Nothing was executed: no money moved. The provider was not available. Call ${verb} again with exactly the same arguments.`
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
