// Posts what the provider charges us for a movement of money. The fee belongs to the operation that
// posted the movement, so that the constraint `ledger_postings_once` lets it be posted once.
import { randomUUIDv7 } from 'node:crypto'
import type { MovementKind, Posting } from '../../domain/ledger/ledger.ts'
import type { Sql, Transaction } from '../connection/client.ts'
import { nextId } from '../connection/ids.ts'
import { ofEachTenant, rowsOf } from '../connection/rows.ts'
import { inTenants, together } from '../connection/transaction.ts'
import type { ledgerPostings } from '../schema/ledger-postings.ts'
import type { RowOf } from '../schema/row-of.ts'

/** The fee for a movement in the ledger. */
export interface NewProviderFee {
  readonly of: MovementKind
  readonly tenantId: string
  readonly paymentId: string
  readonly refundId: string | null
  readonly currency: string
  readonly posting: Posting
}

/** Posts the fees that are not posted yet, and returns how many these were. */
export async function insertProviderFeesIfNew(
  sql: Sql,
  fees: readonly NewProviderFee[],
): Promise<number> {
  return await inTenants(sql, fees, async (tx) => {
    const counts = await together(
      ofEachTenant(fees, ({ tenantId }) => tenantId).map(([id, own]) =>
        insertFeesOfTenant(tx, id, own),
      ),
    )
    return counts.reduce((sum, count) => sum + count, 0)
  })
}

async function insertFeesOfTenant(
  tx: Transaction,
  tenantId: string,
  fees: readonly NewProviderFee[],
): Promise<number> {
  const movements = await tx<Movement[]>`
    select operation_id, payment_id, refund_id, kind from ledger_postings
    where tenant_id = ${tenantId} and payment_id = any(${fees.map(({ paymentId }) => paymentId)}::uuid[])
      and kind <> 'provider_fee'
  `
  const operationOf = new Map(movements.map((row) => [nameOf(row), row.operation_id]))
  const rows = fees.flatMap(({ of, paymentId, refundId, currency, posting }) => {
    const operationId = operationOf.get(
      nameOf({ kind: of, payment_id: paymentId, refund_id: refundId }),
    )
    if (operationId === undefined) return []
    return {
      tenant_id: tenantId,
      id: randomUUIDv7(),
      transaction_id: nextId(tx, 'ledger', tx`${tenantId}::uuid`),
      kind: 'provider_fee',
      payment_id: paymentId,
      refund_id: refundId,
      operation_id: operationId,
      debit: posting.debit,
      credit: posting.credit,
      amount_minor: posting.amountMinor,
      currency,
    }
  })
  if (rows.length === 0) return 0
  // The same order for all runs, so that they do not deadlock.
  const inOrder = rows.toSorted((one, other) => (one.operation_id < other.operation_id ? -1 : 1))
  const { count } = await tx`
    insert into ledger_postings ${rowsOf(tx, inOrder)} on conflict do nothing
  `
  return count
}

type Movement = Pick<
  RowOf<typeof ledgerPostings>,
  'kind' | 'payment_id' | 'refund_id' | 'operation_id'
>

const nameOf = (movement: Omit<Movement, 'operation_id'>): string =>
  `${movement.kind} ${movement.payment_id} ${movement.refund_id}`
