// Reads the ledger: its transactions, each a group of postings that one statement inserted, and its
// balances.
import type { LedgerAccount, LedgerKind } from '../../domain/ledger/ledger.ts'
import type { LedgerBalance, LedgerTransaction } from '../../domain/ledger/ledger-transaction.ts'
import type { Fragment, Sql } from '../connection/client.ts'
import { listOf, matching, type List, type Page, type PageRequest } from '../connection/pages.ts'
import { objectOf, type RowOf } from '../connection/rows.ts'
import { asTenant } from '../connection/transaction.ts'
import type { ledgerPostings } from '../schema/payments.ts'

type TransactionRow = Pick<
  RowOf<typeof ledgerPostings>,
  'kind' | 'payment_id' | 'refund_id' | 'dispute_id' | 'currency' | 'created_at'
> & { readonly id: string; readonly postings: readonly RowOf<typeof ledgerPostings>[] }

const transactionFromRow = (row: TransactionRow): LedgerTransaction => ({
  ...objectOf(row),
  postings: row.postings.map(({ debit, credit, amount_minor: amountMinor }) => ({
    debit,
    credit,
    amountMinor,
  })),
})

/** An absent filter matches every ledger transaction. */
export interface LedgerFilters {
  readonly paymentId?: string | undefined
  readonly kind?: LedgerKind | undefined
  readonly currency?: string | undefined
  /** Inclusive, in ISO 8601. */
  readonly createdFrom?: string | undefined
  /** Exclusive, in ISO 8601. */
  readonly createdBefore?: string | undefined
}

/**
 * The ledger transactions of a tenant that match the filters. All postings of a ledger transaction
 * match or none, because one statement inserted them with the same values, by which they are grouped.
 */
function transactionsWhere(
  sql: Sql,
  tenantId: string,
  filters: Fragment,
): List<TransactionRow, LedgerTransaction> {
  return {
    // The movement comes before its fee, which is never larger.
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
    filters,
    fromRow: transactionFromRow,
  }
}

/** Finds a ledger transaction of a tenant, with its postings. */
export async function findLedgerTransaction(
  sql: Sql,
  tenantId: string,
  id: string,
): Promise<LedgerTransaction | undefined> {
  const list = transactionsWhere(sql, tenantId, sql`and id = ${id}`)
  const page = await listOf(sql, tenantId, list, { limit: 1 })
  return page?.items[0]
}

/** Lists a tenant's ledger transactions, newest first. Undefined when none has the cursor's id. */
export async function listLedgerTransactions(
  sql: Sql,
  tenantId: string,
  { paymentId, kind, currency, createdFrom, createdBefore }: LedgerFilters,
  request: PageRequest,
): Promise<Page<LedgerTransaction> | undefined> {
  const filters = sql`
    ${matching(sql, { payment_id: paymentId, kind, currency })}
    ${createdFrom === undefined ? sql`` : sql`and created_at >= ${createdFrom}`}
    ${createdBefore === undefined ? sql`` : sql`and created_at < ${createdBefore}`}
  `
  const ordered = { table: 'ledger_postings', column: 'transaction_id' } as const
  const list = { ...transactionsWhere(sql, tenantId, filters), ordered }
  return await listOf(sql, tenantId, list, request)
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
