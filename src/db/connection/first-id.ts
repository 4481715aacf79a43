// The bounds of ids by time: ids are UUIDv7, so that a primary key finds the rows of a moment.

/** The lower bound of all UUIDv7 of that time, in milliseconds since 1970. */
export function firstIdAt(ms: number): string {
  const time = Math.max(0, ms).toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`
}
