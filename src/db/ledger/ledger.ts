// Inserts postings into the ledger, in the transaction that advances the recovery point; postings never
// change.
import { randomUUIDv7 } from 'node:crypto'
import type { LedgerEntry } from '../../domain/ledger/ledger.ts'
import type { Transaction } from '../connection/client.ts'
import { nextId } from '../connection/ids.ts'
import { rowsOf } from '../connection/rows.ts'
import { together } from '../connection/transaction.ts'
import type { OperationRow } from '../operations/operation-rows.ts'

/** Inserts ledger transactions of operations of a tenant, each with its postings and an id. */
export async function insertPostings(
  tx: Transaction,
  tenantId: string,
  posted: readonly { readonly claim: OperationRow; readonly entry: LedgerEntry }[],
): Promise<void> {
  if (posted.length === 0) return
  const ids = await together(posted.map(() => makeTransactionId(tx, tenantId)))
  const rows = posted.flatMap(({ claim, entry }, index) =>
    entry.postings.map(({ debit, credit, amountMinor }) => ({
      tenant_id: tenantId,
      id: randomUUIDv7(),
      transaction_id: ids[index],
      kind: entry.kind,
      payment_id: claim.paymentId,
      refund_id: claim.refund?.id,
      dispute_id: claim.dispute?.id,
      operation_id: claim.id,
      debit,
      credit,
      amount_minor: amountMinor,
      currency: entry.currency,
    })),
  )
  await tx`insert into ledger_postings ${rowsOf(tx, rows)}`
}

async function makeTransactionId(tx: Transaction, tenantId: string): Promise<string | undefined> {
  const [row] = await tx<{ id: string }[]>`
    select ${nextId(tx, 'ledger', tx`${tenantId}::uuid`)} as id
  `
  return row?.id
}
