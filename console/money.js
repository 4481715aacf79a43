// Shows and reads amounts. They are counted in the provider's smallest unit, and their decimal point
// is placed in the text: no amount becomes a fraction of binary digits.

/** The provider's currencies without decimals. It deviates from ISO 4217, and so does Intl. */
const WITHOUT_DECIMALS = new Set(
  'bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf'.split(' '),
)

const WITH_THREE_DECIMALS = new Set('bhd jod kwd omr tnd'.split(' '))

/** @param {string} currency in lower case. */
function decimalsOf(currency) {
  if (WITHOUT_DECIMALS.has(currency)) return 0
  return WITH_THREE_DECIMALS.has(currency) ? 3 : 2
}

/**
 * @param {number | bigint} amountMinor
 * @param {string} currency
 */
export function formatAmount(amountMinor, currency) {
  const decimals = decimalsOf(currency)
  const text = placePoint(BigInt(amountMinor), decimals)
  try {
    const format = new Intl.NumberFormat(undefined, {
      style: 'currency',
      currency,
      currencyDisplay: 'code',
      minimumFractionDigits: decimals,
      maximumFractionDigits: decimals,
    })
    return format.format(/** @type {`${number}`} */ (text))
  } catch {
    return `${text} ${currency.toUpperCase()}`
  }
}

/**
 * @param {bigint} amountMinor
 * @param {number} decimals
 */
function placePoint(amountMinor, decimals) {
  if (decimals === 0) return String(amountMinor)
  const digits = String(amountMinor < 0n ? -amountMinor : amountMinor).padStart(decimals + 1, '0')
  const sign = amountMinor < 0n ? '-' : ''
  return `${sign}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`
}

/**
 * Reads an amount as a person writes it, such as `19.99`.
 *
 * @param {string} text
 * @param {string} currency
 * @returns {string | undefined} the smallest units; undefined when it is not an amount.
 */
export function parseAmount(text, currency) {
  const match = /^(\d{1,15})(?:[.,](\d+))?$/.exec(text.trim())
  if (match === null) return undefined
  const [, whole = '', fraction = ''] = match
  const decimals = decimalsOf(currency)
  if (fraction.length > decimals) return undefined
  return String(BigInt(`${whole}${fraction.padEnd(decimals, '0')}`))
}
