// Inserts postings into the ledger, in the transaction that advances the recovery point; postings never
// change.
import { randomUUIDv7 } from 'node:crypto'
import type { LedgerEntry } from '../../domain/ledger/ledger.ts'
import type { Transaction } from '../connection/client.ts'
import { nextId } from '../connection/ids.ts'
import type { OperationRow } from '../operations/operation-rows.ts'

/** Inserts ledger transactions of operations of a tenant, each with its postings. */
export async function insertPostings(
  tx: Transaction,
  tenantId: string,
  posted: readonly { readonly claim: OperationRow; readonly entry: LedgerEntry }[],
): Promise<void> {
  if (posted.length === 0) return
  const entries = posted.map(({ claim, entry }) => ({
    kind: entry.kind,
    currency: entry.currency,
    operation_id: claim.id,
    payment_id: claim.paymentId,
    refund_id: claim.refund?.id,
    dispute_id: claim.dispute?.id,
    postings: entry.postings.map(({ debit, credit, amountMinor }) => ({
      id: randomUUIDv7(),
      debit,
      credit,
      amount_minor: amountMinor,
    })),
  }))
  // The postings are joined to their transaction by lateral, so that it has one id.
  await tx`
    insert into ledger_postings (
      tenant_id, id, transaction_id, kind, payment_id, refund_id, dispute_id, operation_id, debit,
      credit, amount_minor, currency
    )
    select
      ${tenantId}::uuid, posting.id, entry.transaction_id, entry.kind, entry.payment_id,
      entry.refund_id, entry.dispute_id, entry.operation_id, posting.debit, posting.credit,
      posting.amount_minor, entry.currency
    from (
      select *, ${nextId(tx, 'ledger', tx`${tenantId}::uuid`)} as transaction_id
      from jsonb_to_recordset(${JSON.stringify(entries)}::jsonb) as entry (
        kind text, currency text, operation_id uuid, payment_id uuid, refund_id uuid,
        dispute_id uuid, postings jsonb
      )
    ) as entry
    cross join lateral jsonb_to_recordset(entry.postings) as posting (
      id uuid, debit text, credit text, amount_minor bigint
    )
  `
}
