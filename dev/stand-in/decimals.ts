// Writes an amount in the main unit of its currency, as it stands on the statement of a card: so that
// the logs of providers that count in different units can be compared.

/** 1999 with two decimals is `19.99`; with none it is `1999`. */
export function placePoint(amount: number, decimals: number): string {
  const sign = amount < 0 ? '-' : ''
  const digits = String(Math.abs(amount)).padStart(decimals + 1, '0')
  if (decimals === 0) return sign + digits
  return `${sign}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`
}
