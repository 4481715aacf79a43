// The currencies that Stripe takes, and their decimals in its API, as on
// https://docs.stripe.com/currencies. An account takes those of its country; the stand-in takes all.

const TWO_DECIMALS = `
  USD AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BRL BSD BWP BYN BZD CAD CDF CHF
  CNY COP CRC CVE CZK DKK DOP DZD EGP ETB EUR FJD FKP GBP GEL GIP GMD GTQ GYD HKD HNL HTG HUF IDR
  ILS INR ISK JMD KES KGS KHR KYD KZT LAK LBP LKR LRD LSL MAD MDL MKD MMK MNT MOP MUR MVR MWK MXN
  MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SEK SGD SHP
  SLE SOS SRD STD SZL THB TJS TOP TRY TTD TWD TZS UAH UGX UYU UZS WST XCD XCG YER ZAR ZMW
`
const ZERO_DECIMALS = 'BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF'
const THREE_DECIMALS = 'BHD JOD KWD OMR TND'

const codesIn = (list: string) => list.trim().toLowerCase().split(/\s+/)

const decimals: ReadonlyMap<string, number> = new Map([
  ...codesIn(TWO_DECIMALS).map((code) => [code, 2] as const),
  ...codesIn(ZERO_DECIMALS).map((code) => [code, 0] as const),
  ...codesIn(THREE_DECIMALS).map((code) => [code, 3] as const),
])

/** In lower case. Undefined for a currency that Stripe does not take. */
export function stripeDecimals(currency: string): number | undefined {
  return decimals.get(currency)
}

/** Every currency, in lower case. */
export const stripeCurrencies: readonly string[] = [...decimals.keys()]
