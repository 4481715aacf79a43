// Posts the provider's fee of each movement once, however often it is compared. Only the provider's balance
// tells the fees: the answer to a capture has none, and even the movement of an asynchronous capture can be
// missing for an hour.
import { randomUUIDv7 } from 'node:crypto'
import type { Sql, Transaction } from '../db/connection/client.ts'
import { forEachTenant, nextId, rowsOf, type RowOf } from '../db/connection/rows.ts'
import { inTenants } from '../db/connection/transaction.ts'
import type { ledgerPostings } from '../db/schema/payments.ts'
import { postingOfProviderFee, type Posting } from '../domain/ledger/ledger.ts'
import type { ProviderMovement } from '../provider/payment-provider.ts'
import type { Comparison } from './comparison.ts'
import type { LedgerMovement } from './our-records.ts'

type Posted = Pick<LedgerMovement, 'kind' | 'tenantId' | 'paymentId' | 'refundId'>

/** A movement of the provider, and the one in the ledger to which it belongs. */
interface Pair {
  readonly movement: ProviderMovement
  readonly ours: Posted | undefined
}

export async function postProviderFees(
  { sql, counts }: Comparison,
  pairs: readonly Pair[],
): Promise<void> {
  const fees = pairs.flatMap(({ movement: { fee, providerDisputeId }, ours }) => {
    const posting = postingOfProviderFee(fee.amountMinor)
    // `dispute.follow` posts the fee of a dispute, with what the dispute moves.
    if (ours === undefined || posting === undefined || providerDisputeId !== null) return []
    const { kind, tenantId, paymentId, refundId } = ours
    return [{ kind, tenantId, paymentId, refundId, currency: fee.currency, posting }]
  })
  counts.fees += await insertProviderFeesIfNew(sql, fees)
}

/** The fee for a movement in the ledger. */
type NewProviderFee = Posted & { readonly currency: string; readonly posting: Posting }

/**
 * Posts the fees that are not posted yet, and returns how many these were. A fee belongs to the operation that
 * posted its movement, so that the constraint `ledger_postings_once` lets it be posted once.
 */
export async function insertProviderFeesIfNew(
  sql: Sql,
  fees: readonly NewProviderFee[],
): Promise<number> {
  const counts = await inTenants(sql, fees, (tx) =>
    forEachTenant(fees, (tenantId, own) => insertFeesOfTenant(tx, tenantId, own)),
  )
  return counts.reduce((sum, count) => sum + count, 0)
}

async function insertFeesOfTenant(
  tx: Transaction,
  tenantId: string,
  fees: readonly NewProviderFee[],
): Promise<number> {
  const movements = await tx<PostedMovement[]>`
    select operation_id, payment_id, refund_id, kind from ledger_postings
    where tenant_id = ${tenantId} and payment_id = any(${fees.map(({ paymentId }) => paymentId)}::uuid[])
      and kind <> 'provider_fee'
  `
  const operationOf = new Map(movements.map((row) => [postedName(row), row.operation_id]))
  const rows = fees.flatMap(({ kind, paymentId, refundId, currency, posting }) => {
    const movement = { kind, payment_id: paymentId, refund_id: refundId }
    const operationId = operationOf.get(postedName(movement))
    if (operationId === undefined) return []
    const ids = { tenantId, id: randomUUIDv7(), paymentId, refundId, operationId }
    const transactionId = nextId(tx, 'ledger', tx`${tenantId}::uuid`)
    const { debit, credit, amountMinor } = posting
    return { ...ids, transactionId, kind: 'provider_fee', debit, credit, amountMinor, currency }
  })
  if (rows.length === 0) return 0
  // The same order for all runs, so that they do not deadlock.
  const inOrder = rows.toSorted((one, other) => (one.operationId < other.operationId ? -1 : 1))
  const { count } = await tx`
    insert into ledger_postings ${rowsOf(tx, inOrder)} on conflict do nothing
  `
  return count
}

type PostedMovement = Pick<
  RowOf<typeof ledgerPostings>,
  'kind' | 'payment_id' | 'refund_id' | 'operation_id'
>

const postedName = (movement: Omit<PostedMovement, 'operation_id'>): string =>
  `${movement.kind} ${movement.payment_id} ${movement.refund_id}`
