// Inserts postings into the ledger, and reads it: its transactions, each a group of postings that one
// statement inserted, and its balances. Postings never change. Those of an operation are inserted in the
// transaction that advances its recovery point. What the provider charges us for a movement belongs to the
// operation that posted the movement, so that the constraint `ledger_postings_once` lets it be posted once.
import { randomUUIDv7 } from 'node:crypto'
import type {
  LedgerAccount,
  LedgerEntry,
  LedgerKind,
  MovementKind,
  Posting,
} from '../../domain/ledger/ledger.ts'
import type { LedgerBalance, LedgerTransaction } from '../../domain/ledger/ledger-transaction.ts'
import type { Sql, Transaction } from '../connection/client.ts'
import { findIn, listOf, matching, type PageRequest } from '../connection/pages.ts'
import { forEachTenant, nextId, objectOf, rowsOf, type RowOf } from '../connection/rows.ts'
import { asTenant, inTenants } from '../connection/transaction.ts'
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
    const movement = { kind: of, payment_id: paymentId, refund_id: refundId }
    const operationId = operationOf.get(nameOf(movement))
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

type PostingRow = RowOf<typeof ledgerPostings>
type Movement = Pick<PostingRow, 'kind' | 'payment_id' | 'refund_id' | 'operation_id'>

const nameOf = (movement: Omit<Movement, 'operation_id'>): string =>
  `${movement.kind} ${movement.payment_id} ${movement.refund_id}`

type TransactionRow = Pick<
  PostingRow,
  'kind' | 'payment_id' | 'refund_id' | 'dispute_id' | 'currency' | 'created_at'
> & { readonly id: string; readonly postings: readonly PostingRow[] }

/**
 * The ledger transactions of a tenant. All postings of a ledger transaction match a filter or none, because
 * one statement inserted them with the same values, by which they are grouped. The movement comes before its
 * fee, which is never larger.
 */
const transactions = (sql: Sql, tenantId: string) => ({
  entries: sql`
    from (
      select
        transaction_id as id, kind, payment_id, refund_id, dispute_id, currency,
        created_at, jsonb_agg(to_jsonb(ledger_postings) order by amount_minor desc, id) as postings
      from ledger_postings
      where tenant_id = ${tenantId}
      group by transaction_id, kind, payment_id, refund_id, dispute_id, currency, created_at
    ) as ledger_transactions
    where true
  `,
  fromRow: ({ postings, ...row }: TransactionRow): LedgerTransaction => ({
    ...objectOf(row),
    postings: postings.map(({ debit, credit, amount_minor }) => ({
      debit,
      credit,
      amountMinor: amount_minor,
    })),
  }),
})

/** Finds a ledger transaction of a tenant, with its postings. */
export const findLedgerTransaction = (sql: Sql, tenantId: string, id: string) =>
  findIn(sql, tenantId, transactions(sql, tenantId), { id })

/** An absent filter matches every ledger transaction. */
interface LedgerFilters {
  readonly paymentId?: string | undefined
  readonly kind?: LedgerKind | undefined
  readonly currency?: string | undefined
  /** Inclusive, in ISO 8601. */
  readonly createdFrom?: string | undefined
  /** Exclusive, in ISO 8601. */
  readonly createdBefore?: string | undefined
}

export const listLedgerTransactions = (
  sql: Sql,
  tenantId: string,
  { paymentId, kind, currency, createdFrom, createdBefore }: LedgerFilters,
  request: PageRequest,
) => {
  const filters = sql`
    ${matching(sql, { payment_id: paymentId, kind, currency })}
    ${createdFrom === undefined ? sql`` : sql`and created_at >= ${createdFrom}`}
    ${createdBefore === undefined ? sql`` : sql`and created_at < ${createdBefore}`}
  `
  const ordered = { table: 'ledger_postings', column: 'transaction_id' } as const
  return listOf(sql, tenantId, { ...transactions(sql, tenantId), filters, ordered }, request)
}

/** The balance of each account of a tenant in each currency: debits minus credits. */
export async function readLedgerBalances(sql: Sql, tenantId: string): Promise<LedgerBalance[]> {
  const rows = await asTenant(sql, tenantId)<
    { account: LedgerAccount; currency: string; sum: string }[]
  >`
    select account, currency, sum(amount_minor)
    from (
      select debit as account, currency, amount_minor
      from ledger_postings where tenant_id = ${tenantId}
      union all
      select credit, currency, -amount_minor
      from ledger_postings where tenant_id = ${tenantId}
    ) as entries
    group by account, currency
    order by currency, account
  `
  return rows.map(({ sum, ...balance }) => ({ ...balance, amountMinor: Number(sum) }))
}
