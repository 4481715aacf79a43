// The accepted currencies: the active codes of ISO 4217, in lower case as Stripe writes them. The
// provider decides which of them an account can charge.

/**
 * ISO 4217 list one as amended up to January 2026 (without the lev, with the Caribbean guilder).
 * Fund codes, units of account, precious metals and test codes are left out, because no one pays
 * with them.
 *
 * The numbers of minor-unit digits are left out on purpose: amounts use the provider's minor units,
 * and Stripe deviates from ISO for some currencies (isk and ugx have two digits there, mga none).
 */
const CURRENCIES: ReadonlySet<string> = new Set(
  `
  aed afn all amd aoa ars aud awg azn bam bbd bdt bhd bif bmd bnd bob brl bsd btn bwp byn bzd
  cad cdf chf clp cny cop crc cup cve czk djf dkk dop dzd egp ern etb eur fjd fkp
  gbp gel ghs gip gmd gnf gtq gyd hkd hnl htg huf idr ils inr iqd irr isk jmd jod jpy
  kes kgs khr kmf kpw krw kwd kyd kzt lak lbp lkr lrd lsl lyd
  mad mdl mga mkd mmk mnt mop mru mur mvr mwk mxn myr mzn nad ngn nio nok npr nzd omr
  pab pen pgk php pkr pln pyg qar ron rsd rub rwf
  sar sbd scr sdg sek sgd shp sle sos srd ssp stn svc syp szl thb tjs tmt tnd top try ttd twd tzs
  uah ugx usd uyu uzs ved ves vnd vuv wst xaf xcd xcg xof xpf yer zar zmw zwg
  `
    .trim()
    .split(/\s+/),
)

/** Whether a text is an active ISO 4217 currency code in lower case. */
export function isCurrency(code: string): boolean {
  return CURRENCIES.has(code)
}
