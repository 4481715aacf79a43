// Inserts postings into the ledger. The statement that advances the recovery point inserts them;
// postings never change.
import { randomUUIDv7 } from 'node:crypto'
import type { LedgerEntry } from '../../domain/ledger/ledger.ts'
import type { Fragment, Sql, Transaction } from '../connection/client.ts'

/**
 * A part of a statement: inserts the ledger transactions of each operation that is in the CTE
 * `fenced`.
 */
export function insertPostingsIfOwner(
  sql: Sql | Transaction,
  ledgers: readonly { readonly ownerId: string; readonly entries: readonly LedgerEntry[] }[],
): Fragment {
  const rows = ledgers.flatMap(({ ownerId, entries }) =>
    entries.flatMap((entry) => postingsOf(entry).map((row) => ({ owner_id: ownerId, ...row }))),
  )
  return sql`
    insert into ledger_postings (
      tenant_id, id, transaction_id, kind, payment_id, refund_id, dispute_id, operation_id, debit,
      credit, amount_minor, currency
    )
    select
      fenced.tenant_id, posting.id, posting.transaction_id, posting.kind, fenced.payment_id,
      fenced.refund_id, fenced.dispute_id, fenced.id, posting.debit, posting.credit,
      posting.amount_minor, posting.currency
    from fenced
    join jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as posting (
      owner_id uuid, id uuid, transaction_id uuid, kind text, debit text, credit text,
      amount_minor bigint, currency text
    ) on posting.owner_id = fenced.id
  `
}

/** The rows of one ledger transaction. */
function postingsOf({ kind, currency, postings }: LedgerEntry) {
  const transactionId = randomUUIDv7()
  return postings.map(({ debit, credit, amountMinor }) => ({
    id: randomUUIDv7(),
    transaction_id: transactionId,
    kind,
    debit,
    credit,
    amount_minor: amountMinor,
    currency,
  }))
}
