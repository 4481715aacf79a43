// Checks an amount against the rules that a provider declares. A new operation with another amount
// is refused before anything is written.
import { ProblemError } from '../problems/problem-error.ts'
import { amountMaxMinor } from './currency.ts'

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
export function takesCurrency({ currencies }: AmountRules, currency: string): boolean {
  return currencies?.has(currency) ?? true
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
