// Refuses amounts that Stripe does not charge in a currency
// (https://docs.stripe.com/currencies#minimum-and-maximum-charge-amounts). As everywhere in the
// stand-in, a charge settles in its own currency, so the minimum after a conversion plays no part.
import { placePoint } from '../../stand-in/decimals.ts'
import { stripeDecimals } from '../currencies.ts'
import { invalidParameter } from '../requests/stripe-errors.ts'

/** The minimum charge amounts as in Stripe's documentation, in major units. */
const MINIMA = `
  0.50 usd  2.00 aed  0.50 ars  0.50 aud  0.50 brl  0.50 cad  0.50 chf  0.50 cop  15.00 czk
  2.50 dkk  0.50 eur  0.30 gbp  4.00 hkd  175.00 huf  0.50 idr  0.50 ils  0.50 inr  50 jpy
  50 krw  10.00 mxn  2.00 myr  3.00 nok  0.50 nzd  0.50 php  2.00 pln  2.00 ron  0.50 rub
  3.00 sek  0.50 sgd  10.00 thb  0.50 zar
`

/** @throws StripeError `amount_too_small` below the minimum charge of the currency. */
export function refuseSmallCharge(amount: number, currency: string): void {
  const major = new RegExp(`(\\S+) ${currency}\\b`).exec(MINIMA)?.[1]
  if (major === undefined || amount >= Number(major.replace('.', ''))) return
  const message = `Amount must be at least ${symbolOf(currency)}${major} ${currency}`
  throw invalidParameter('amount', message, 'amount_too_small')
}

/** What the documents call digits: of the amount in the API. All other currencies have 8. */
const DIGITS = { idr: 12, lbp: 11, cop: 10, huf: 10, jpy: 10, inr: 9 }

/** @throws StripeError `amount_too_large` above the maximum charge of the currency. */
export function refuseLargeCharge(amount: number, currency: string): void {
  const digits = new Map(Object.entries(DIGITS)).get(currency) ?? 8
  if (String(amount).length <= digits) return
  const most = placePoint(10 ** digits - 1, stripeDecimals(currency) ?? 2)
  const message = `Amount must be no more than ${symbolOf(currency)}${most}`
  throw invalidParameter('amount', message, 'amount_too_large')
}

function symbolOf(currency: string): string | undefined {
  const format = { style: 'currency', currency, currencyDisplay: 'narrowSymbol' } as const
  const parts = new Intl.NumberFormat('en-US', format).formatToParts(0)
  return parts.find(({ type }) => type === 'currency')?.value
}

/**
 * Refuses fractions of currencies that have none but are sent with two decimals, and a last digit
 * other than 0 in currencies with three decimals. Stripe documents the second for all payment flows,
 * the first for charges only. The message of the first is Stripe's; that of the second, and a code
 * of either, are not known.
 *
 * @throws StripeError without a code.
 */
export function refuseFraction(amount: number, currency: string, param = 'amount'): void {
  if (['isk', 'ugx'].includes(currency) && amount % 100 !== 0) {
    const message =
      `Invalid amount. Currency ${currency.toUpperCase()} has become effectively zero-decimal and ` +
      'charged amounts must be evenly divisible by 100. See ' +
      'https://stripe.com/docs/currencies#zero-decimal for more information.'
    throw invalidParameter(param, message)
  }
  if (['bhd', 'jod', 'kwd', 'omr', 'tnd'].includes(currency) && amount % 10 !== 0) {
    const message = `Invalid amount. The last digit must be 0 in ${currency.toUpperCase()}.`
    throw invalidParameter(param, message)
  }
}
