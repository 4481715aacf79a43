// What the calls share: how one is sent, and how a payment is looked at that a call has changed.
import type Stripe from 'stripe'
import type { Declined, Done, NotExecuted, Outcome } from '../../../domain/operations/outcome.ts'
import type { Failure, Payment } from '../../../domain/payments/payment.ts'
import { asRead, type CallDescription, providerPaymentIdOf, unknown } from '../../call-outcomes.ts'
import type { AdapterCall, CallIdentity, CallName } from '../../calls.ts'
import { fitTextOrNothing } from '../../provider-text.ts'
import { withinTimeLimit } from '../../deadline.ts'
import { describeIntent, type Intent, isAbout, WITH_CHARGE } from '../answers.ts'
import { toOutcome, type Connection } from '../connection.ts'
import { unclear } from '../matches.ts'

export interface StripeCall<Name extends CallName> extends AdapterCall<Connection, Name> {
  /** What a restricted key must be allowed to write, by its path: see rights.ts. */
  readonly writes: string
}

/**
 * Makes a call under its provider key, and sends nothing after the lease of the caller.
 *
 * @param about what the call is about, for the timeline.
 */
export async function send<Value>(
  connection: Connection,
  { providerKey, sendBeforeMs }: CallIdentity,
  call: string,
  about: CallDescription,
  request: (asked: CallDescription, options: Stripe.RequestOptions) => Promise<Outcome<Value>>,
): Promise<Outcome<Value>> {
  const asked = { call, provider_key: providerKey, ...about }
  return await toOutcome({ ...connection, sendBeforeMs }, asked, () =>
    request(asked, { idempotencyKey: providerKey }),
  )
}

/**
 * Reads the intent of a payment, with its charge. It executes nothing, so a read that fails is
 * `not_executed`. One before the request of a call needs the `sendBeforeMs` of that call.
 */
export async function readIntent<Value>(
  connection: Connection,
  payment: Payment,
  confirm: (intent: Intent, asked: CallDescription) => Outcome<Value>,
): Promise<Done<Value> | NotExecuted> {
  const id = providerPaymentIdOf(payment)
  const asked = { call: 'payment_intents.retrieve', payment_id: id }
  const looked = await toOutcome(connection, asked, async () =>
    confirm(await connection.stripe.paymentIntents.retrieve(id, WITH_CHARGE), asked),
  )
  return asRead(looked)
}

type Explain<Value> = (
  intent: Intent,
  asked: CallDescription,
  answered: CallDescription,
) => Outcome<Value>

/**
 * Retrieves the intent of a payment that the provider already knows, so its absence proves nothing.
 */
export async function lookAtIntent<Value>(
  connection: Connection,
  payment: Payment,
  explain: Explain<Value>,
): Promise<Outcome<Value>> {
  return await retrieveIntent(connection, payment, (intent, asked, answered) =>
    isAbout(payment, intent) && intent.id === payment.providerPaymentId
      ? explain(intent, asked, answered)
      : unknown(asked, answered, FOUND_MISMATCH),
  )
}

/** The same, without a check that it is the intent of this payment. */
export async function retrieveIntent<Value>(
  connection: Connection,
  payment: Payment,
  explain: Explain<Value>,
): Promise<Outcome<Value>> {
  const id = providerPaymentIdOf(payment)
  const asked = { call: 'payment_intents.retrieve', payment_id: id }
  const retrieve = () => connection.stripe.paymentIntents.retrieve(id, WITH_CHARGE)
  try {
    const intent = await withinTimeLimit(connection, retrieve)
    return explain(intent, asked, describeIntent(intent))
  } catch (error) {
    return unclear(error, asked)
  }
}

export const FOUND_MISMATCH = 'the object that was found does not match the request'

/** A call that the intent shows to be refused, as Stripe would refuse it. */
export function declinedBy(
  intent: Intent,
  failure: Failure,
  asked: CallDescription,
  answered: CallDescription,
): Declined {
  return { outcome: 'declined', failure, providerPaymentId: intent.id, asked, answered }
}

/** The status of the intent, which may be any value. */
export function statusOf({ status }: Intent): string {
  return fitTextOrNothing(status) ?? 'without a status'
}
