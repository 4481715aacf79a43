// The currencies that Braintree lists, as far as they are in use. Those with a star have no decimals
// there; all others have two.
import { decimalsOf } from '../../domain/payments/currency.ts'

/** @see https://developer.paypal.com/braintree/docs/reference/general/currencies of January 2026 */
const LISTED = `
  aed amd aoa ars aud awg azn bam bbd bdt bif* bmd bnd bob brl bsd bwp byn bzd cad chf clp* cny cop crc
  cve czk djf* dkk dop dzd egp etb eur fjd fkp gbp gel ghs gip gmd gnf* gtq gyd hkd hnl htg huf idr ils
  inr isk* jmd jpy* kes kgs khr kmf* krw* kyd kzt lak* lbp lkr lrd lsl mad mdl mkd mnt mop mur mvr mwk
  mxn myr mzn nad ngn nio nok npr nzd pab pen pgk php pkr pln pyg* qar ron rsd rub rwf* sar sbd scr sek
  sgd shp sos srd svc syp szl thb tjs top try ttd twd tzs uah ugx* usd uyu uzs ves vnd* vuv* wst xaf*
  xcd xof* xpf* yer zar
`

const listed = LISTED.trim().split(/\s+/)
const withoutDecimals = listed.filter((code) => code.endsWith('*')).map((code) => code.slice(0, -1))

export const braintreeCurrencies: ReadonlySet<string> = new Set(
  listed.map((code) => code.replace('*', '')),
)

export function isZeroDecimal(currency: string): boolean {
  return withoutDecimals.includes(currency)
}

/** What has no decimals there, and some in the API, can only be charged in whole units. */
export const braintreeSteps: ReadonlyMap<string, number> = new Map(
  withoutDecimals
    .map((currency) => [currency, 10 ** decimalsOf(currency)] as const)
    .filter(([, step]) => step > 1),
)
