// The PostgreSQL errors that the product handles by code, and the signal that a statement waits for
// a lock.
import postgres from 'postgres'

export const DIVISION_BY_ZERO = '22012'
export const NOT_NULL_VIOLATION = '23502'
export const FOREIGN_KEY_VIOLATION = '23503'
export const UNIQUE_VIOLATION = '23505'
export const CHECK_VIOLATION = '23514'
export const DEADLOCK_DETECTED = '40P01'

/** As the driver throws it. */
export function postgresError(code: string, message: string): Error {
  const fields = { code, message, severity: 'ERROR' }
  return Object.assign(new postgres.PostgresError(message as never), fields)
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
