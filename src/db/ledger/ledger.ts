// Inserts postings into the ledger; they never change. Those of an operation are inserted in the transaction
// that advances its recovery point.
import { randomUUIDv7 } from 'node:crypto'
import type { LedgerEntry } from '../../domain/ledger/ledger.ts'
import type { Transaction } from '../connection/client.ts'
import { nextId, rowsOf } from '../connection/rows.ts'
import type { OperationRow } from '../operations/operation-rows.ts'

/**
 * Inserts ledger transactions of operations of a tenant, each with its postings.
 *
 * @param ids of `makeLedgerIds`, at least one for each.
 */
export async function insertPostings(
  tx: Transaction,
  tenantId: string,
  posted: readonly { readonly claim: OperationRow; readonly entry: LedgerEntry }[],
  ids: readonly string[],
): Promise<void> {
  if (posted.length === 0) return
  const rows = posted.flatMap(({ claim, entry: { kind, currency, postings } }, index) => {
    const { id: operationId, paymentId, refund, dispute } = claim
    const ofOperation = { operationId, paymentId, refundId: refund?.id, disputeId: dispute?.id }
    const transaction = { tenantId, transactionId: ids[index], kind, currency, ...ofOperation }
    return postings.map(({ debit, credit, amountMinor }) => ({
      id: randomUUIDv7(),
      ...transaction,
      debit,
      credit,
      amountMinor,
    }))
  })
  await tx`insert into ledger_postings ${rowsOf(tx, rows)}`
}

/** Makes the ids of ledger transactions. They have to be inserted in this transaction. */
export async function makeLedgerIds(
  tx: Transaction,
  tenantId: string,
  posted: readonly { readonly claim: OperationRow }[],
): Promise<string[]> {
  if (posted.length === 0) return []
  const rows = await tx<{ id: string }[]>`
    select ${nextId(tx, 'ledger', tx`${tenantId}::uuid`)} as id
    from unnest(${posted.map(({ claim }) => claim.id)}::uuid[])
  `
  return rows.map(({ id }) => id)
}
