// Inserts postings into the ledger. The statement that advances the recovery point inserts them;
// postings never change.
import { randomUUIDv7 } from 'node:crypto'
import type { LedgerEntry } from '../../domain/ledger/ledger.ts'
import type { Fragment, Sql, Transaction } from '../connection/client.ts'

/** A part of a statement: inserts one ledger transaction of the operation in the CTE `fenced`. */
export function insertPostingsIfOwner(
  sql: Sql | Transaction,
  { kind, currency, postings }: LedgerEntry,
): Fragment {
  const rows = postings.map(({ debit, credit, amountMinor }) => ({
    id: randomUUIDv7(),
    debit,
    credit,
    amount_minor: amountMinor,
  }))
  return sql`
    insert into ledger_postings (
      tenant_id, id, transaction_id, kind, payment_id, refund_id, dispute_id, operation_id, debit,
      credit, amount_minor, currency
    )
    select
      fenced.tenant_id, posting.id, ${randomUUIDv7()}::uuid, ${kind}::text, fenced.payment_id,
      fenced.refund_id, fenced.dispute_id, fenced.id, posting.debit, posting.credit, posting.amount_minor,
      ${currency}::text
    from fenced, jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as posting (
      id uuid, debit text, credit text, amount_minor bigint
    )
  `
}
