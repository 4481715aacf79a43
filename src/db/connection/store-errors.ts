// Tells transient errors (the store is unreachable, restarting, full or deadlocked) from bugs.
// After a transient error of a commit, whether it happened is unknown.
import postgres from 'postgres'

/** Codes of the driver and of Node for an open connection that ended before the answer. */
const BROKEN_CODES = new Set(['CONNECTION_CLOSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT'])

/** These codes, and those of a connection that could not be opened or that this process closed. */
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
  'TLS_FAILED',
  'NO_PRIMARY',
])

/** The code of a session that is not its client's own, or lacks its role: see `pool/session.ts`. */
export const SESSION_UNUSABLE = 'SESSION_UNUSABLE'

/** Why a store cannot serve now. All but `conflict` need the attention of an operator. */
export const storeErrorKinds = [
  'unreachable',
  'timeout',
  'exhausted',
  'failed',
  'conflict',
  'unusable',
] as const
export type StoreErrorKind = (typeof storeErrorKinds)[number]

/**
 * SQLSTATEs, or their classes, of a store that cannot serve now: the server cancelled the statement,
 * or the transaction was idle for too long; connection exceptions and other interventions of an
 * operator, for example a shutdown; insufficient resources; I/O errors and a standby; transaction
 * rollback and lock not available.
 *
 * @see https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const KINDS_BY_SQLSTATE: readonly (readonly [RegExp, StoreErrorKind])[] = [
  [/^(57014|25P03)$/, 'timeout'],
  [/^(08|57)/, 'unreachable'],
  [/^53/, 'exhausted'],
  [/^58|^25006$/, 'failed'],
  [/^40|^55P03$/, 'conflict'],
]

/** Whether the same statement may succeed later. */
export function isStoreUnavailable(error: unknown): boolean {
  return storeErrorKind(error) !== undefined
}

/** Returns why the store cannot serve now; undefined for any other error. */
export function storeErrorKind(error: unknown): StoreErrorKind | undefined {
  const code = errorCode(error)
  if (code === undefined) return undefined
  if (CONNECTION_CODES.has(code)) return 'unreachable'
  if (code === SESSION_UNUSABLE) return 'unusable'
  const known = KINDS_BY_SQLSTATE.find(([sqlstate]) => sqlstate.test(code))
  return known?.[1] ?? (isFatal(error) ? 'unreachable' : undefined)
}

/** The server refused the session itself: no statement was executed. */
function isFatal(error: unknown): boolean {
  return error instanceof postgres.PostgresError && error.severity === 'FATAL'
}

/**
 * SQLSTATEs with which the server ends a connection: a shutdown, a crash, pg_terminate_backend or a
 * timeout.
 */
const ENDED_BY_SERVER = /^(57P0[1-5]|25P03|08...)$/

/** Whether the connection of the error is lost, or the server is about to close it. */
export function isConnectionLost(error: unknown): boolean {
  const code = errorCode(error)
  return code !== undefined && (CONNECTION_CODES.has(code) || ENDED_BY_SERVER.test(code))
}

/** Whether an open connection ended during the statement, other than by this process. */
export function isConnectionBroken(error: unknown): boolean {
  const code = errorCode(error)
  return code !== undefined && (BROKEN_CODES.has(code) || ENDED_BY_SERVER.test(code))
}

/** Whether another server is the primary: this one accepts no writes, or was followed by another one. */
export function isFromOtherThanPrimary(error: unknown): boolean {
  return ['25006', 'NO_PRIMARY'].includes(errorCode(error) ?? '')
}

/** Whether the server accepts no writes now: they are switched off, its disk is full or broken. */
export function isReadOnly(error: unknown): boolean {
  return /^(25006|53100|58...)$/.test(errorCode(error) ?? '')
}

/**
 * Whether Postgres refuses the values: a column cannot hold them (22), or they violate a constraint
 * (23). It would refuse the same statement again.
 */
export function isRefusedForItsContent(error: unknown): boolean {
  return /^2[23]/.test(errorCode(error) ?? '')
}

/** Whether an earlier statement of the transaction has failed. */
export function isTransactionFailed(error: unknown): boolean {
  return errorCode(error) === '25P02'
}

/** Whether a table is missing: the database was not migrated to this version. */
export function isUndefinedTable(error: unknown): boolean {
  return errorCode(error) === '42P01'
}

/**
 * Whether a row would have the reference of another payment or refund of its tenant. Nothing of the
 * statement is written. Citus names the index only in the message, with the number of its shard.
 */
export function isDuplicateReference(error: unknown): boolean {
  return (
    error instanceof postgres.PostgresError &&
    error.code === '23505' &&
    /\b(payments|refunds)_by_reference(_\d+)?\b/.test(error.message)
  )
}

/** The code of the error, or of its cause when drizzle or Node wrapped it. */
function errorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  if ('code' in error && typeof error.code === 'string') return error.code
  return 'cause' in error ? errorCode(error.cause) : undefined
}

/**
 * The store did not answer in time: a frozen server or a silent connection never reports an error. Whether it
 * executed the statement is unknown.
 */
export class StoreTimeoutError extends Error {
  override name = 'StoreTimeoutError'
  readonly code = 'ETIMEDOUT'
}

/** @throws StoreTimeoutError when the statement takes longer than that many milliseconds. */
export function withinMs<Value>(timeoutMs: number, statement: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    // Created only when needed: capturing its stack is the most expensive step here.
    const timer = setTimeout(
      () => reject(new StoreTimeoutError(`the store did not answer in ${timeoutMs} ms`)),
      timeoutMs,
    )
    statement.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
