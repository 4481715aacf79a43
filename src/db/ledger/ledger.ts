// Inserts postings into the ledger; they never change. Those of an operation are inserted in the transaction
// that advances its recovery point. What the provider charges us for a movement belongs to the operation that
// posted the movement, so that the constraint `ledger_postings_once` lets it be posted once.
import { randomUUIDv7 } from 'node:crypto'
import type { LedgerEntry, MovementKind, Posting } from '../../domain/ledger/ledger.ts'
import type { Sql, Transaction } from '../connection/client.ts'
import { forEachTenant, rowsOf, type RowOf, nextId } from '../connection/rows.ts'
import { inTenants } from '../connection/transaction.ts'
import type { OperationRow } from '../operations/operation-rows.ts'
import type { ledgerPostings } from '../schema/payments.ts'

/**
 * Inserts ledger transactions of operations of a tenant, each with its postings.
 *
 * @param ids of `makeLedgerIds`, at least one for each.
 */
export async function insertPostings(
  tx: Transaction,
  tenantId: string,
  posted: readonly { readonly claim: OperationRow; readonly entry: LedgerEntry }[],
  ids: readonly string[],
): Promise<void> {
  if (posted.length === 0) return
  const rows = posted.flatMap(({ claim, entry: { kind, currency, postings } }, index) => {
    const { id: operationId, paymentId, refund, dispute } = claim
    const ofOperation = { operationId, paymentId, refundId: refund?.id, disputeId: dispute?.id }
    const transaction = { tenantId, transactionId: ids[index], kind, currency, ...ofOperation }
    return postings.map(({ debit, credit, amountMinor }) => ({
      id: randomUUIDv7(),
      ...transaction,
      debit,
      credit,
      amountMinor,
    }))
  })
  await tx`insert into ledger_postings ${rowsOf(tx, rows)}`
}

/** Makes the ids of ledger transactions. They have to be inserted in this transaction. */
export async function makeLedgerIds(
  tx: Transaction,
  tenantId: string,
  posted: readonly { readonly claim: OperationRow }[],
): Promise<string[]> {
  if (posted.length === 0) return []
  const rows = await tx<{ id: string }[]>`
    select ${nextId(tx, 'ledger', tx`${tenantId}::uuid`)} as id
    from unnest(${posted.map(({ claim }) => claim.id)}::uuid[])
  `
  return rows.map(({ id }) => id)
}

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

type Movement = Pick<
  RowOf<typeof ledgerPostings>,
  'kind' | 'payment_id' | 'refund_id' | 'operation_id'
>

const nameOf = (movement: Omit<Movement, 'operation_id'>): string =>
  `${movement.kind} ${movement.payment_id} ${movement.refund_id}`
