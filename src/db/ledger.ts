// The statements on the ledger: postings are added in the transaction of the recovery point that they
// belong to, and never changed.
import { randomUUIDv7 } from 'node:crypto'
import type { LedgerKind, Posting } from '../domain/ledger.ts'
import type { Payment } from '../domain/payment.ts'
import type { Transaction } from './client.ts'

/** What the postings are about. */
export interface PostingSubject {
  readonly kind: LedgerKind
  readonly payment: Pick<Payment, 'tenantId' | 'id' | 'currency'>
  readonly refundId?: string
  readonly operationId: string
}

/** Adds one ledger transaction, made of the postings. */
export async function postToLedger(
  tx: Transaction,
  subject: PostingSubject,
  postings: readonly Posting[],
): Promise<void> {
  const { payment } = subject
  const rows = postings.map(({ debit, credit, amountMinor }) => ({
    id: randomUUIDv7(),
    debit,
    credit,
    amount_minor: amountMinor,
  }))
  await tx`
    insert into ledger_postings (
      tenant_id, id, transaction_id, kind, payment_id, refund_id, operation_id, debit, credit,
      amount_minor, currency
    )
    select
      ${payment.tenantId}::uuid, posting.id, ${randomUUIDv7()}::uuid, ${subject.kind}::text,
      ${payment.id}::uuid, ${subject.refundId ?? null}::uuid, ${subject.operationId}::uuid,
      posting.debit, posting.credit, posting.amount_minor, ${payment.currency}::text
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as posting (
      id uuid, debit text, credit text, amount_minor bigint
    )
  `
}
