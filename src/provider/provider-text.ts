// Text that comes from a provider, made fit to be stored and shown: Postgres refuses some characters,
// and a card number must not reach a table by way of somebody else's error message.
import { containsCardNumber } from '../domain/payments/card-number.ts'

const LENGTH_MAX = 500

/** The text, without NUL, lone surrogates or a card number, and cut to 500 characters. */
export function fitText(text: string): string {
  const fit = text.toWellFormed().replaceAll('\u0000', '\uFFFD').slice(0, LENGTH_MAX).toWellFormed()
  return containsCardNumber(fit) ? '[a card number was removed]' : fit
}

/** The same for what may be missing, or no text at all. */
export function fitTextOrNothing(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? fitText(value) : undefined
}

/** Whether it can be the id of an object of Stripe's. */
export function isObjectId(value: unknown): value is string {
  return typeof value === 'string' && /^\w{3,255}$/.test(value)
}
