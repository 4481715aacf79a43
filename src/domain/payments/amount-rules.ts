// The amounts that Stripe accepts in each currency. A new operation with another amount is refused
// before anything is written. Stripe's API does not return these rules, only its documentation does.
import { ProblemError } from '../problems/problem-error.ts'

/**
 * The smallest charge in minor units, by currency; as of 2026.
 *
 * Stripe's list is by the currency in which an account is paid out. A charge in another currency
 * must be worth that minimum after conversion. The service knows neither the account's currencies
 * nor the rate, so it compares a charge with the minimum of its own currency. All other refusals
 * are left to Stripe, and so are currencies that are not listed.
 *
 * It is the minimum of a charge. Whether it also binds partial captures and refunds is not
 * documented, so these have no minimum here.
 *
 * @see https://docs.stripe.com/currencies#minimum-and-maximum-charge-amounts
 */
export const chargeMinimaMinor: ReadonlyMap<string, number> = new Map([
  ['aed', 200],
  ['ars', 50],
  ['aud', 50],
  ['brl', 50],
  ['cad', 50],
  ['chf', 50],
  ['cop', 50],
  ['czk', 1_500],
  ['dkk', 250],
  ['eur', 50],
  ['gbp', 30],
  ['hkd', 400],
  ['huf', 17_500],
  ['idr', 50],
  ['ils', 50],
  ['inr', 50],
  ['jpy', 50],
  ['krw', 50],
  ['mxn', 1_000],
  ['myr', 200],
  ['nok', 300],
  ['nzd', 50],
  ['php', 50],
  ['pln', 200],
  ['ron', 200],
  ['rub', 50],
  ['sek', 300],
  ['sgd', 50],
  ['thb', 1_000],
  ['usd', 50],
  ['zar', 50],
])

/**
 * The currencies in which every amount is a multiple of a number of minor units. Two have no
 * fractions any more, but are still sent with two decimals. The others have three decimals, and the
 * last digit must be 0, in refunds, too. This holds for parts of a payment: a fraction that cannot
 * be charged cannot be captured or refunded either.
 *
 * Forints and New Taiwan dollars are whole in payouts only.
 *
 * @see https://docs.stripe.com/currencies#special-cases
 * @see https://docs.stripe.com/currencies?presentment-currency=AE#three-decimal
 */
export const amountSteps: ReadonlyMap<string, number> = new Map([
  ['isk', 100],
  ['ugx', 100],
  ['bhd', 10],
  ['jod', 10],
  ['kwd', 10],
  ['omr', 10],
  ['tnd', 10],
])

/** Returns why Stripe would not charge this amount; undefined when no rule is known. */
export function findChargeProblem(amountMinor: number, currency: string): ProblemError | undefined {
  const minimum = chargeMinimaMinor.get(currency)
  if (minimum !== undefined && amountMinor < minimum) {
    return problemOf('amount-too-small', `Too small: expected >=${minimum} in ${currency}`)
  }
  return findPartProblem(amountMinor, currency)
}

/**
 * Returns why Stripe would not capture or refund this part of a payment; undefined when no rule is
 * known. Without an amount it is all that is left, which is never refused.
 */
export function findPartProblem(
  amountMinor: number | undefined,
  currency: string,
): ProblemError | undefined {
  const step = amountSteps.get(currency)
  if (step === undefined || amountMinor === undefined || amountMinor % step === 0) return undefined
  return problemOf('invalid-amount', `Invalid input: expected a multiple of ${step} in ${currency}`)
}

function problemOf(type: 'amount-too-small' | 'invalid-amount', detail: string): ProblemError {
  const pointer = '/amount'
  return new ProblemError(type, {
    detail: `${pointer}: ${detail}`,
    errors: [{ pointer, detail }],
  })
}
