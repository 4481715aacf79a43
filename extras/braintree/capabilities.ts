// What Braintree promises and can do; facts.md has the sources.
import { declareCapabilities } from '../../src/provider/capabilities.ts'
import { decimalsOf } from '../../src/domain/payments/currency.ts'

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
const braintreeSteps: ReadonlyMap<string, number> = new Map(
  withoutDecimals
    .map((currency) => [currency, 10 ** decimalsOf(currency)] as const)
    .filter(([, step]) => step > 1),
)

export const braintreeCapabilities = declareCapabilities({
  /** Only some accounts have keys: see `braintreeCapabilitiesWithKeys`. */
  keys: null,
  /** Its gateway waits up to 60 seconds for a processor. */
  settleSeconds: 60,
  /** An assumption: Braintree does not say when its search shows a transaction. */
  lookUpLagSeconds: 60 * 60,
  /** One capture of a part: the rest is not captured later. */
  partialCapture: true,
  /** Where the processor supports it; else an adjustment is declined. */
  incrementalAuthorization: true,
  void: true,
  /** A merchant account has one currency. */
  everyCurrency: false,
  /** The settlement of a refund can be declined. */
  refundsMayFail: true,
  /** A payer authenticates in the client, before there is a nonce. */
  authentication: false,
  /** A minimum is not documented: such refusals are left to Braintree. */
  amounts: {
    currencies: braintreeCurrencies,
    chargeMinimaMinor: new Map(),
    steps: braintreeSteps,
  },
})

/**
 * Of an account with at-most-once processing. The key of a call that failed stays used (915234), and
 * the call is not completed later. An adjustment has no key: it sets a total, so that a repetition
 * finds nothing to change (95606), which a lookup explains.
 */
export const braintreeCapabilitiesWithKeys = declareCapabilities({
  ...braintreeCapabilities,
  keys: { keptSeconds: 30 * 24 * 60 * 60, keepsFailures: false },
})
