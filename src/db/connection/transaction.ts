// Transactions that survive the loss of their connection. After it, the driver would still send its
// ROLLBACK into the closed connection, which ends the process (postgres 3.4.9, `nextWrite` of null).
import type { Sql, Transaction } from './client.ts'
import { isConnectionLost } from './store-errors.ts'

/**
 * Runs the work in one transaction, which commits when it resolves and rolls back when it rejects.
 *
 * The work may await nothing but its own statements: while it waits for something else, a lost
 * connection goes unnoticed until it is written to.
 *
 * @throws what the work throws, or the driver's error. After a lost connection whether the commit
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
 * Never resolves: the server has rolled back already, and `begin` itself rejects as soon as the driver
 * has seen the connection close, without a ROLLBACK.
 */
function connectionToClose(): Promise<never> {
  return new Promise(() => {})
}
