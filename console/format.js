// Turns times, durations and names of the API into words.

/** In the viewer's zone, without the year if it is this one. @param {string | Date} time */
export function formatTime(time) {
  const moment = new Date(time)
  const isThisYear = moment.getFullYear() === new Date().getFullYear()
  return moment.toLocaleString(undefined, {
    ...(isThisYear ? {} : { year: 'numeric' }),
    month: 'short',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  })
}

/** @param {number} ms */
export function formatDuration(ms) {
  const whole = Math.round(ms)
  if (whole < 1_000) return `${whole} ms`
  if (whole < 60_000) return `${(whole / 1_000).toFixed(whole < 10_000 ? 2 : 1)} s`
  const seconds = Math.round(whole / 1_000)
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  const minutes = Math.round(seconds / 60)
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
  return `${Math.round(minutes / 60 / 24)} days`
}

/** @param {number} seconds */
export const formatSeconds = (seconds) => formatDuration(seconds * 1_000)

/** Makes words of a name such as `failed_retryable`. @param {string} name */
export const words = (name) => name.replaceAll('_', ' ')

/** @param {number} count @param {string} one @param {string} [many] */
export const plural = (count, one, many = `${one}s`) => `${count} ${count === 1 ? one : many}`

/** @param {unknown} value */
export function describe(value) {
  if (value === null || value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value, undefined, 2)
}

/** The value of `<input type="datetime-local">`, in the viewer's zone. @param {Date} time */
export function localInput(time) {
  const local = new Date(time.getTime() - time.getTimezoneOffset() * 60_000)
  return local.toISOString().slice(0, 16)
}
