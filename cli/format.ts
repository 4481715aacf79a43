// Writes times, durations and amounts. No amount becomes a fraction of binary digits.

/** The provider's currencies without decimals. It deviates from ISO 4217, and so does Intl. */
const WITHOUT_DECIMALS = new Set(
  'bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf'.split(' '),
)
const WITH_THREE_DECIMALS = new Set('bhd jod kwd omr tnd'.split(' '))

/** @param currency in lower case. */
export function formatAmount(amountMinor: number, currency: string): string {
  const decimals = decimalsOf(currency)
  const name = currency.toUpperCase()
  if (decimals === 0) return `${amountMinor} ${name}`
  const digits = String(BigInt(Math.abs(amountMinor))).padStart(decimals + 1, '0')
  const sign = amountMinor < 0 ? '-' : ''
  return `${sign}${digits.slice(0, -decimals)}.${digits.slice(-decimals)} ${name}`
}

function decimalsOf(currency: string): number {
  if (WITHOUT_DECIMALS.has(currency)) return 0
  return WITH_THREE_DECIMALS.has(currency) ? 3 : 2
}

/** In UTC, as ISO 8601. */
export function formatTime(time: string | Date): string {
  return new Date(time).toISOString()
}

function formatDuration(ms: number): string {
  const whole = Math.max(0, Math.round(ms))
  if (whole < 60_000) return `${(whole / 1_000).toFixed(3)} s`
  const seconds = Math.floor(whole / 1_000)
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
  return `${Math.floor(minutes / 60 / 24)} days`
}

export function between(from: string, to: string | Date): string {
  return formatDuration(new Date(to).getTime() - new Date(from).getTime())
}
