// Runs transactions that survive the loss of their connection. The driver would send its ROLLBACK
// into the closed connection, which ends the process (postgres 3.4.9, `nextWrite` of null).
import type { Sql, TransactionSql as Transaction } from 'postgres'
import { isConnectionLost } from './store-errors.ts'

/**
 * Runs the work in one transaction, which commits when it resolves and rolls back when it rejects.
 *
 * The work may await only its own statements: while it waits for something else, a lost connection
 * goes unnoticed until the next write.
 *
 * @throws the error of the work, or of the driver. After a lost connection, whether the commit
 *   happened is unknown.
 */
export async function inTransaction<Result>(
  sql: Sql,
  work: (tx: Transaction) => Promise<Result>,
): Promise<Result> {
  let result: Result | undefined
  await sql.begin(async (tx) => {
    try {
      result = await work(tx)
    } catch (error) {
      if (isConnectionLost(error)) await connectionToClose()
      throw error
    }
  })
  return result as Result
}

/**
 * Never resolves. The server has already rolled back, and `begin` rejects without a ROLLBACK as
 * soon as the driver notices the closed connection.
 */
function connectionToClose(): Promise<never> {
  return new Promise(() => {})
}

/** Longer than any transaction of ours may take. */
export const TRANSACTION_MAX_MS = 15 * 60_000

const withLongStatements = new WeakSet<Transaction>()

/**
 * Lets the statements of a transaction take as long as a transaction may take. Its connection does not
 * count as lost while it waits for them.
 */
export async function allowLongStatements(tx: Transaction): Promise<void> {
  withLongStatements.add(tx)
  await tx`select set_config('statement_timeout', ${String(TRANSACTION_MAX_MS)}, true)`
}

export function hasLongStatements(tx: Transaction): boolean {
  return withLongStatements.has(tx)
}
