// Reads the ledger postings and events of a payment, for tests that compare them with the
// responses.
import type { Store } from '../../src/db/connection/client.ts'
import { parsePaymentId } from '../../src/domain/payments/payment.ts'

export interface PostingRow {
  readonly transaction_id: string
  readonly kind: string
  readonly debit: string
  readonly credit: string
  readonly amount: number
  readonly currency: string
  readonly refund_id: string | null
}

/**
 * Returns the ledger postings of a payment, by its public id, in the order of their transactions.
 */
export async function postingsOf({ sql }: Store, paymentId: string): Promise<PostingRow[]> {
  return await sql<PostingRow[]>`
    select
      transaction_id, kind, debit, credit, amount_minor::int as amount, currency, refund_id
    from ledger_postings
    where payment_id = ${uuidOf(paymentId)}
    order by created_at, transaction_id, debit desc
  `
}

/** Returns the types of the events of a payment, by its public id, oldest first. */
export async function eventsOf({ sql }: Store, paymentId: string): Promise<string[]> {
  const rows = await sql<{ type: string }[]>`
    select type from events where payment_id = ${uuidOf(paymentId)} order by created_at, id
  `
  return rows.map(({ type }) => type)
}

function uuidOf(paymentId: string): string {
  const id = parsePaymentId(paymentId)
  if (id === undefined) throw new Error(`${paymentId} is not the id of a payment`)
  return id
}
