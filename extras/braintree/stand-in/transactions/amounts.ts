// Reads and shows amounts, in the currencies that Braintree lists. A merchant account has one of them.
import { placePoint } from '../../../../dev/stand-in/decimals.ts'
import { invalid } from '../requests/refusals.ts'
import type { Member } from '../requests/xml.ts'

/**
 * Those with a star have no decimals, all others two.
 *
 * @see https://developer.paypal.com/braintree/docs/reference/general/currencies
 */
const LISTED = `
  AED AMD AOA ARS AUD AWG AZN BAM BBD BDT BIF* BMD BND BOB BRL BSD BWP BYN BZD CAD CHF CLP* CNY COP
  CRC CVE CZK DJF* DKK DOP DZD EGP ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF* GTQ GYD HKD HNL HRK HTG
  HUF IDR ILS INR ISK* JMD JPY* KES KGS KHR KMF* KRW* KYD KZT LAK* LBP LKR LRD LSL LTL MAD MDL MKD
  MNT MOP MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN PYG* QAR RON RSD
  RUB RWF* SAR SBD SCR SEK SGD SHP SLL SOS SRD STD SVC SYP SZL THB TJS TOP TRY TTD TWD TZS UAH UGX*
  USD UYU UZS VES VND* VUV* WST XAF* XCD XOF* XPF* YER ZAR ZMK ZWD
`

const listed: ReadonlySet<string> = new Set(LISTED.trim().toLowerCase().split(/\s+/))

export const isListed = (currency: string): boolean =>
  listed.has(currency) || listed.has(`${currency}*`)

const decimalsOf = (currency: string): number => (listed.has(`${currency}*`) ? 0 : 2)

export function showAmount(amountMinor: number, currency: string): string {
  return placePoint(amountMinor, decimalsOf(currency))
}

/**
 * Reads `10` and `10.00`; the second only in a currency with decimals.
 *
 * @throws Refusal 81503 for another text, 81531 for zero. An adjustment answers with its transaction.
 * @see https://developer.paypal.com/braintree/docs/reference/general/validation-errors/all
 */
export function requireAmount(text: unknown, currency: string, transaction?: Member): number {
  const decimals = decimalsOf(currency)
  const [, whole, fraction] = /^(\d+)(?:\.(\d{2}))?$/.exec(String(text)) ?? []
  if (whole === undefined || (fraction !== undefined && decimals === 0)) {
    throw invalid('81503', transaction)
  }
  const amount = Number(whole + (fraction ?? '').padEnd(decimals, '0'))
  if (amount === 0) throw invalid('81531', transaction)
  return amount
}
