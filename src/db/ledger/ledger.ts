// Inserts postings into the ledger. The statement that advances the recovery point inserts them;
// postings never change.
import { randomUUIDv7 } from 'node:crypto'
import type { LedgerEntry } from '../../domain/ledger/ledger.ts'
import type { Fragment, Sql, Transaction } from '../connection/client.ts'
import { nextId } from '../connection/ids.ts'

/**
 * A part of a statement: inserts the ledger transactions of each operation that is in the CTE
 * `fenced`.
 */
export function insertPostingsIfOwner(
  sql: Sql | Transaction,
  ledgers: readonly { readonly ownerId: string; readonly entries: readonly LedgerEntry[] }[],
): Fragment {
  const rows = ledgers.flatMap(({ ownerId, entries }) =>
    entries.map((entry) => ({ owner_id: ownerId, ...entryRow(entry) })),
  )
  // The postings are joined to their transaction by lateral, so that it has one id.
  return sql`
    insert into ledger_postings (
      tenant_id, id, transaction_id, kind, payment_id, refund_id, dispute_id, operation_id, debit,
      credit, amount_minor, currency
    )
    select
      entry.tenant_id, posting.id, entry.transaction_id, entry.kind, entry.payment_id,
      entry.refund_id, entry.dispute_id, entry.operation_id, posting.debit, posting.credit,
      posting.amount_minor, entry.currency
    from (
      select
        fenced.tenant_id, ${nextId(sql, 'ledger', sql`fenced.tenant_id`)} as transaction_id,
        asked_entry.kind, fenced.payment_id, fenced.refund_id, fenced.dispute_id,
        fenced.id as operation_id, asked_entry.currency, asked_entry.postings
      from fenced
      join jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as asked_entry (
        owner_id uuid, kind text, currency text, postings jsonb
      ) on asked_entry.owner_id = fenced.id
    ) as entry
    cross join lateral jsonb_to_recordset(entry.postings) as posting (
      id uuid, debit text, credit text, amount_minor bigint
    )
  `
}

/** A ledger transaction with its postings. */
function entryRow({ kind, currency, postings }: LedgerEntry) {
  return {
    kind,
    currency,
    postings: postings.map(({ debit, credit, amountMinor }) => ({
      id: randomUUIDv7(),
      debit,
      credit,
      amount_minor: amountMinor,
    })),
  }
}
