// Converts amounts between the units of the API and the decimal texts of Braintree, without rounding:
// by moving the decimal point, never by arithmetic with fractions.
import { decimalsOf } from '../../src/domain/payments/currency.ts'
import { braintreeCurrencies, isZeroDecimal } from './capabilities.ts'

/**
 * The text of an amount: 1999 is `19.99` in eur and `1999` in jpy, and 50000 is `500` in isk, which has
 * two decimals in the API and none at Braintree. Undefined for an amount that Braintree cannot
 * express: a fraction of such a currency, and a currency that it does not list.
 */
export function showAmount(amountMinor: number, currency: string): string | undefined {
  if (!braintreeCurrencies.has(currency)) return undefined
  const places = decimalsOf(currency)
  const digits = String(amountMinor).padStart(places + 1, '0')
  const [whole, fraction] = [digits.slice(0, digits.length - places), digits.slice(-places)]
  if (places === 0) return whole
  if (!isZeroDecimal(currency)) return `${whole}.${fraction}`
  return /[^0]/.test(fraction) ? undefined : whole
}

/**
 * The amount in the unit of the API. Undefined unless it is an amount of the currency: one with a
 * fraction of that unit is not. Braintree writes `100`, `250.0` and `250.00`.
 */
export function readAmount(text: unknown, currency: string): number | undefined {
  const [, whole = '', fraction = ''] =
    (typeof text === 'string' && /^(\d{1,13})(?:\.(\d{1,6}))?$/.exec(text)) || []
  const places = decimalsOf(currency)
  const [kept, rest] = [fraction.slice(0, places), fraction.slice(places)]
  if (whole === '' || /[^0]/.test(rest)) return undefined
  const amountMinor = Number(whole + kept.padEnd(places, '0'))
  return Number.isSafeInteger(amountMinor) ? amountMinor : undefined
}
