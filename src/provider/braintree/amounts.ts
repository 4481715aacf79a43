// Converts amounts between minor units and the decimal texts of Braintree, without rounding: by
// moving the decimal point, never by arithmetic with fractions.

/**
 * The currencies that do not have two decimals, by ISO 4217. Braintree's documents say only that an
 * amount must match the currency format of the merchant account, and list no decimals.
 *
 * @see https://www.six-group.com/en/products-services/financial-information/data-standards.html
 */
const decimals: ReadonlyMap<string, number> = new Map([
  ...`bif clp djf gnf isk jpy kmf krw pyg rwf ugx vnd vuv xaf xof xpf`
    .split(' ')
    .map((currency) => [currency, 0] as const),
  ...`bhd iqd jod kwd lyd omr tnd`.split(' ').map((currency) => [currency, 3] as const),
])

const DECIMALS_USUAL = 2

const decimalsOf = (currency: string): number => decimals.get(currency) ?? DECIMALS_USUAL

/** The text of an amount: 1999 is `19.99` in eur, `1999` in jpy and `1.999` in kwd. */
export function showAmount(amountMinor: number, currency: string): string {
  const places = decimalsOf(currency)
  const digits = String(amountMinor).padStart(places + 1, '0')
  return places === 0 ? digits : `${digits.slice(0, -places)}.${digits.slice(-places)}`
}

/**
 * The minor units of a text. Undefined unless it is an amount of the currency: one with a fraction
 * of a minor unit is not. Braintree writes `100`, `250.0` and `250.00`.
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
