// The PostgreSQL errors that the product handles by code, and the signal that a statement waits for
// a lock.
import postgres from 'postgres'

export const DIVISION_BY_ZERO = '22012'
export const NOT_NULL_VIOLATION = '23502'
export const FOREIGN_KEY_VIOLATION = '23503'
export const UNIQUE_VIOLATION = '23505'
export const CHECK_VIOLATION = '23514'
export const IN_FAILED_TRANSACTION = '25P02'
export const DEADLOCK_DETECTED = '40P01'

/**
 * As the driver throws it.
 *
 * @param constraint the name of the constraint or unique index that is violated.
 */
export function postgresError(code: string, message: string, constraint?: string): Error {
  const named = constraint === undefined ? {} : { constraint_name: constraint }
  const fields = { code, message, severity: 'ERROR', ...named }
  return Object.assign(new postgres.PostgresError(message as never), fields)
}

/** The violation of a constraint or unique index. */
export const violationOf = (code: string, constraint: string): Error =>
  postgresError(code, constraint, constraint)

/** The constraint or unique index that an error names. */
export const constraintOf = (error: Error): string | undefined =>
  error instanceof postgres.PostgresError ? error.constraint_name : undefined

/** An error of PostgreSQL, as a result. */
export interface ErrorResult {
  readonly kind: 'error'
  readonly code: string
  readonly message: string
  readonly constraint: string | undefined
}

/** @throws any other error. */
export function errorResultOf(error: unknown): ErrorResult {
  if (!(error instanceof postgres.PostgresError)) throw error
  const { code, message } = error
  return { kind: 'error', code, message, constraint: constraintOf(error) }
}

export const CONNECTION_LOST = 'the connection was lost'

/** The connection is lost, and whether the statement was executed is unknown. */
export function connectionLost(): Error {
  return Object.assign(new Error(CONNECTION_LOST), { code: 'CONNECTION_CLOSED' })
}

/** The statement waits until another session's transaction ends. */
export class Blocked extends Error {
  override name = 'Blocked'
  readonly blockedBy: number

  /** @param blockedBy index of that transaction among the other transactions. */
  constructor(blockedBy: number) {
    super('waits for a lock')
    this.blockedBy = blockedBy
  }
}
