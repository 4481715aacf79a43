// Reads what a provider sends, of which nothing is taken for granted, and makes its text safe to store
// and show. Postgres refuses some characters, and a card number in a provider's error message must not
// reach a table. Stripe's refusal of a payment method names the customer that owns it, which may belong
// to another tenant.
import { containsSecret } from '../domain/own-secrets.ts'
import { containsCardNumber } from '../domain/payments/card-number.ts'

const LENGTH_MAX = 500

const CUSTOMER_ID = /\bcus_\w+/g

/**
 * The text without NUL, lone surrogates, card numbers, secrets or ids of customers, cut to 500
 * characters.
 */
export function fitText(text: string): string {
  const named = text.toWellFormed().replaceAll('\u0000', '\uFFFD')
  const fit = named.replaceAll(CUSTOMER_ID, 'cus_***').slice(0, LENGTH_MAX).toWellFormed()
  if (containsSecret(fit, [])) return '[a secret was removed]'
  return containsCardNumber(fit) ? '[a card number was removed]' : fit
}

/** The same for a value that may be missing, or not a string. */
export function fitTextOrNothing(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? fitText(value) : undefined
}

/** Whether a value can be the id of a Stripe object. */
export function isObjectId(value: unknown): value is string {
  return typeof value === 'string' && /^\w{3,255}$/.test(value)
}

export type Json = Readonly<Record<string, unknown>>

export function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Seconds since 1970 that fit into a timestamp of Postgres. */
export function isTimestamp(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 2 ** 36
}

/** The id that a member contains: as a plain id, or expanded to the whole object. */
export function namedId(member: unknown): string | null {
  const id = isJson(member) ? member['id'] : member
  return isObjectId(id) ? id : null
}

const UUID = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/

export function isUuid(value: unknown): value is string {
  return typeof value === 'string' && UUID.test(value)
}
