// The accepted currencies, and the unit in which the API counts each: what `amount` means, whichever
// provider charges it. The provider decides which of them an account can charge. Checks an amount against
// the rules that a provider declares.
import { ProblemError } from '../problems/problem-error.ts'

/**
 * ISO 4217 list one as amended up to January 2026 (without the lev, with the Caribbean guilder), in
 * lower case as Stripe writes it. Fund codes, units of account, precious metals and test codes are
 * left out, because no one pays with them.
 *
 * By decimals: how many digits of an amount are behind the decimal point. They are Stripe's, so that
 * an amount is what a client of Stripe sends. ISO has none for isk and ugx, which Stripe takes with
 * two that are always 00; two for mga, which Stripe takes without; and three for iqd and lyd, which no
 * provider takes. An adapter of a provider with other units converts.
 *
 * @see https://docs.stripe.com/currencies#zero-decimal
 * @see https://docs.stripe.com/currencies#special-cases
 * @see https://docs.stripe.com/currencies?presentment-currency=AE#three-decimal
 */
const CURRENCIES: readonly (readonly [decimals: number, codes: string])[] = [
  [0, `bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf`],
  [
    2,
    `aed afn all amd aoa ars aud awg azn bam bbd bdt bmd bnd bob brl bsd btn bwp byn bzd
    cad cdf chf cny cop crc cup cve czk dkk dop dzd egp ern etb eur fjd fkp
    gbp gel ghs gip gmd gtq gyd hkd hnl htg huf idr ils inr iqd irr isk jmd
    kes kgs khr kpw kyd kzt lak lbp lkr lrd lsl lyd
    mad mdl mkd mmk mnt mop mru mur mvr mwk mxn myr mzn nad ngn nio nok npr nzd
    pab pen pgk php pkr pln qar ron rsd rub
    sar sbd scr sdg sek sgd shp sle sos srd ssp stn svc syp szl thb tjs tmt top try ttd twd tzs
    uah ugx usd uyu uzs ved ves wst xcd xcg yer zar zmw zwg`,
  ],
  [3, `bhd jod kwd omr tnd`],
]

const decimals: ReadonlyMap<string, number> = new Map(
  CURRENCIES.flatMap(([count, codes]) => codes.split(/\s+/).map((code) => [code, count] as const)),
)

/**
 * The digits of the largest amount, where Stripe documents more than the 8 that it takes in all
 * others: a rupiah is worth little. Card networks and accounts have lower limits; then Stripe declines.
 *
 * @see https://docs.stripe.com/currencies#minimum-and-maximum-charge-amounts by currency until 2025;
 *   today it names 12 digits for most cards, and the reference of the API 8.
 */
const DIGITS_MAX: ReadonlyMap<string, number> = new Map([
  ['cop', 10],
  ['huf', 10],
  ['idr', 12],
  ['inr', 9],
  ['jpy', 10],
  ['lbp', 11],
])
const DIGITS_MAX_USUAL = 8

/** All accepted codes, sorted. */
export const currencies: readonly string[] = [...decimals.keys()].toSorted()

/** Whether a text is an active ISO 4217 currency code in lower case. */
export function isCurrency(code: string): boolean {
  return decimals.has(code)
}

/**
 * How many digits of an amount are behind the decimal point: 1999 is 19.99 usd, 1999 jpy and
 * 1.999 kwd. A currency that is not accepted has two; the records of a provider can have some.
 */
export function decimalsOf(currency: string): number {
  return decimals.get(currency) ?? 2
}

/** The largest amount in the currency. */
export function amountMaxMinor(currency: string): number {
  return 10 ** (DIGITS_MAX.get(currency) ?? DIGITS_MAX_USUAL) - 1
}

/** The amounts that a provider accepts, by currency. */
export interface AmountRules {
  /** The currencies whose amounts it can express. Null: all, in the unit of the API. */
  readonly currencies: ReadonlySet<string> | null
  /** The smallest charge in minor units. A currency that is not listed has no known minimum. */
  readonly chargeMinimaMinor: ReadonlyMap<string, number>
  /**
   * The number of minor units of which every amount is a multiple, in refunds and parts of a payment,
   * too: a fraction that cannot be charged cannot be captured or refunded either.
   */
  readonly steps: ReadonlyMap<string, number>
}

/** Whether the provider can express amounts in this currency. */
export function takesCurrency(rules: AmountRules, currency: string): boolean {
  return rules.currencies?.has(currency) ?? true
}

/**
 * Returns why the amount is too large for the currency, or why the provider would not charge it;
 * undefined when no rule is known.
 */
export function findChargeProblem(
  rules: AmountRules,
  amountMinor: number,
  currency: string,
): ProblemError | undefined {
  const maximum = amountMaxMinor(currency)
  if (amountMinor > maximum) {
    return problemOf('invalid-amount', `Too big: expected <=${maximum} in ${currency}`)
  }
  const minimum = rules.chargeMinimaMinor.get(currency)
  if (minimum !== undefined && amountMinor < minimum) {
    return problemOf('amount-too-small', `Too small: expected >=${minimum} in ${currency}`)
  }
  return findPartProblem(rules, amountMinor, currency)
}

/**
 * Returns why the provider would not capture or refund this part of a payment; undefined when no
 * rule is known. Without an amount it is all that is left, which is never refused.
 */
export function findPartProblem(
  { steps }: AmountRules,
  amountMinor: number | undefined,
  currency: string,
): ProblemError | undefined {
  const step = steps.get(currency)
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
