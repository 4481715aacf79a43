// What the database holds of a payment besides its row, for tests that hold it against the answers.
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

/** The ledger's rows about a payment, given by its shown id, in the order of their transactions. */
export async function postingsOf({ sql }: Store, paymentId: string): Promise<PostingRow[]> {
  return await sql<PostingRow[]>`
    select
      transaction_id, kind, debit, credit, amount_minor::int as amount, currency, refund_id
    from ledger_postings
    where payment_id = ${uuidOf(paymentId)}
    order by created_at, transaction_id, debit desc
  `
}

/** The types of the events about a payment, given by its shown id, oldest first. */
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
