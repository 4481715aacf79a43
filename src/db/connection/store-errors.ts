// Tells errors that pass (the store is out of reach, restarting, full or deadlocked) from bugs. What
// such an error says about a commit is nothing: it may have happened.

import postgres from 'postgres'

/** The driver's and Node's codes of a connection that was there, and ended before the answer. */
const BROKEN_CODES = new Set(['CONNECTION_CLOSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT'])

/** The same, and those of one that could not be made, or was closed by this process. */
const CONNECTION_CODES = new Set([
  ...BROKEN_CODES,
  'CONNECTION_DESTROYED',
  'CONNECTION_ENDED',
  'CONNECT_TIMEOUT',
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOENT',
  'ENOTFOUND',
  'EAI_AGAIN',
])

/**
 * SQLSTATEs, or their classes, of a store that cannot serve now: connection exceptions (08), out of
 * resources (53), rolled back for another's sake (40), lock not available (55P03), operator
 * intervention such as a shutdown or a timeout (57), I/O (58), a standby (25006), and a transaction
 * that was idle for too long (25P03).
 *
 * @see https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const PASSING_SQLSTATE = /^(08|53|40|57|58)|^(55P03|25006|25P03)$/

/** Whether the same statement may well succeed a little later. */
export function isStoreUnavailable(error: unknown): boolean {
  const code = errorCode(error)
  if (code === undefined) return false
  return CONNECTION_CODES.has(code) || PASSING_SQLSTATE.test(code) || isFatal(error)
}

/** The server has refused the session itself, whatever was to be done in it: no statement was run. */
function isFatal(error: unknown): boolean {
  return error instanceof postgres.PostgresError && error.severity === 'FATAL'
}

/** SQLSTATEs with which the server ends a connection: a shutdown, a crash, pg_terminate_backend, a timeout. */
const ENDED_BY_SERVER = /^(57P0[1-5]|25P03|08...)$/

/** Whether the connection that the error came over is gone, or about to be closed by the server. */
export function isConnectionLost(error: unknown): boolean {
  const code = errorCode(error)
  return code !== undefined && (CONNECTION_CODES.has(code) || ENDED_BY_SERVER.test(code))
}

/** Whether a connection that was there has ended under the statement, whoever ended it but this process. */
export function isConnectionBroken(error: unknown): boolean {
  const code = errorCode(error)
  return code !== undefined && (BROKEN_CODES.has(code) || ENDED_BY_SERVER.test(code))
}

/**
 * Whether Postgres refuses the values themselves: data that no column can hold (22), or that breaks a
 * constraint (23). The same statement would be refused again.
 */
export function isRefusedForItsContent(error: unknown): boolean {
  return /^2[23]/.test(errorCode(error) ?? '')
}

const DIVISION_BY_ZERO = '22012'

/**
 * Whether a statement has undone itself because something in it was not to be changed: by dividing by
 * the number of rows that were.
 */
export function isDivisionByZero(error: unknown): boolean {
  return error instanceof postgres.PostgresError && error.code === DIVISION_BY_ZERO
}

/** The code of a driver's error, also when drizzle has wrapped it, or Node bundled several. */
function errorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  if ('code' in error && typeof error.code === 'string') return error.code
  return 'cause' in error ? errorCode(error.cause) : undefined
}
