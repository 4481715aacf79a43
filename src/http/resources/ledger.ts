// GET /v1/ledger/balances, /v1/ledger/transactions and /v1/ledger/transactions/:id.
import { z } from 'zod'
import type { Sql } from '../../db/connection/client.ts'
import {
  findIn,
  listOf as listEntries,
  matching,
  type PageRequest,
} from '../../db/connection/pages.ts'
import { objectOf, type RowOf } from '../../db/connection/rows.ts'
import { asTenant } from '../../db/connection/transaction.ts'
import type { ledgerPostings } from '../../db/schema/payments.ts'
import {
  ledgerAccounts,
  ledgerKinds,
  type LedgerAccount,
  type LedgerKind,
  type Posting,
} from '../../domain/ledger/ledger.ts'
import type { Endpoints } from '../contracts/contract.ts'
import {
  EXAMPLE_TIME,
  exampleId,
  idField,
  shownCurrency,
  timeField,
  listOf,
  render,
  type Json,
} from '../contracts/fields.ts'
import { byId, byName, byText, byTime } from '../contracts/parameters.ts'
import { readOne, readList, type Resource } from '../contracts/reads.ts'
import { type TenantEndpoint, tenant } from '../endpoint.ts'
import { currencyFilter, refuseQuery } from '../requests/list-query.ts'
import { showJson } from '../responses/answer.ts'

const signedAmount = z.int().meta({
  description:
    'The amount in the smallest unit of the currency, such as cents. Debits are positive, credits are negative.',
})

const accountField = z.enum(ledgerAccounts).meta({
  description:
    'The ledger account. `provider_receivable`: what the provider owes. `merchant_payable`: what is owed to the merchant. `fees`: the fees of the service. `refunds`: what was returned to cardholders. `disputes`: what disputes have taken. `provider_fees`: the fees of the provider.',
})

export const ledgerTransactionSchema = z
  .object({
    id: idField('ltx', 'The id of the ledger transaction.'),
    object: z.literal('ledger_transaction'),
    kind: z.enum(ledgerKinds).meta({
      description:
        'What moved the money. `refund_failure` returns the money of a refund that failed or was canceled. `dispute` and `dispute_reversal`: what a dispute took, and what it gave back. `provider_fee` is what the provider charges, in the currency of its balance: for a capture or a refund it is posted on the day after, for a dispute at once.',
    }),
    payment: idField('pay', 'The payment whose money moved.'),
    refund: idField(
      're',
      'The refund that moved the money, or for which the fee is. Null for a capture and its fee.',
    ).nullable(),
    dispute: idField('dp', 'The dispute that moved the money, or for which the fee is. Else null.')
      .nullable()
      .optional(),
    entries: z
      .array(
        z.object({
          account: accountField,
          amount: signedAmount,
          currency: shownCurrency,
        }),
      )
      .meta({ description: 'The entries of the transaction. Their amounts sum to zero.' }),
    created_at: timeField('When the transaction was posted.'),
  })
  .meta({
    id: 'LedgerTransaction',
    examples: [
      {
        id: exampleId('ltx'),
        object: 'ledger_transaction',
        kind: 'capture',
        payment: exampleId('pay'),
        refund: null,
        dispute: null,
        entries: [
          { account: 'provider_receivable', amount: 1999, currency: 'usd' },
          { account: 'merchant_payable', amount: -1999, currency: 'usd' },
        ],
        created_at: EXAMPLE_TIME,
      },
    ],
  })

/** One movement of money: the postings that were written together. */
export interface LedgerTransaction {
  readonly id: string
  readonly kind: LedgerKind
  readonly paymentId: string
  readonly refundId: string | null
  readonly disputeId: string | null
  readonly currency: string
  readonly postings: readonly Posting[]
  readonly createdAt: Date
}

/** The sum of a tenant's postings to one account in one currency, in minor units. */
interface LedgerBalance {
  readonly account: LedgerAccount
  readonly currency: string
  readonly amountMinor: number
}

/** Debits are positive and credits negative, so the amounts sum to zero. */
export function presentLedgerTransaction(transaction: LedgerTransaction): Json {
  const { postings, currency } = transaction
  const entries = postings.flatMap(({ debit, credit, amountMinor }) => [
    { account: debit, amount: amountMinor, currency },
    { account: credit, amount: -amountMinor, currency },
  ])
  return render(ledgerTransactionSchema, { ...transaction, entries })
}

const ledgerBalanceSchema = z
  .object({
    object: z.literal('ledger_balance'),
    account: accountField,
    currency: shownCurrency,
    amount: signedAmount,
  })
  .meta({
    id: 'LedgerBalance',
    examples: [
      { object: 'ledger_balance', account: 'merchant_payable', currency: 'usd', amount: -1999 },
    ],
  })

type TransactionRow = Pick<
  RowOf<typeof ledgerPostings>,
  'kind' | 'payment_id' | 'refund_id' | 'dispute_id' | 'currency' | 'created_at'
> & { readonly id: string; readonly postings: readonly RowOf<typeof ledgerPostings>[] }

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
  return listEntries(sql, tenantId, { ...transactions(sql, tenantId), filters, ordered }, request)
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

const listLedgerBalances: TenantEndpoint = async ({ store }, request, tenantId) => {
  refuseQuery(request.query)
  const balances = await readLedgerBalances(store.sql, tenantId)
  const data = balances.map(({ amountMinor: amount, ...balance }) =>
    render(ledgerBalanceSchema, { ...balance, amount }),
  )
  return showJson({ object: 'list', data, has_more: false })
}

const transaction = {
  prefix: 'ltx',
  schema: ledgerTransactionSchema,
  idInPath: 'The id of the ledger transaction.',
  find: (sql, id, tenantId) => findLedgerTransaction(sql, tenantId, id),
  present: presentLedgerTransaction,
} satisfies Resource<LedgerTransaction>

const ofLedger = { tag: 'Ledger', scope: 'ledger:read' } as const

export const ledgerEndpoints: Endpoints = {
  'GET /v1/ledger/balances': {
    serve: tenant(listLedgerBalances, 'ledger:read'),
    operationId: 'listLedgerBalances',
    tag: 'Ledger',
    summary: 'List ledger balances',
    description:
      'Returns the balance of each of your ledger accounts in each currency. The list is not paginated.',
    refusesQuery: true,
    answers: {
      200: {
        description: 'All balances.',
        schema: listOf('LedgerBalanceList', ledgerBalanceSchema),
      },
    },
  },
  'GET /v1/ledger/transactions': readList({
    operationId: 'listLedgerTransactions',
    summary: 'List ledger transactions',
    description:
      'Returns your ledger transactions, newest first. One is shown only when no earlier one can still appear, so that a program can follow the list with `ending_before`.',
    of: transaction,
    ...ofLedger,
    filters: {
      payment: byId('pay', 'payment', 'Only return the transactions of this payment.'),
      kind: byName(
        ledgerKinds,
        `one of ${ledgerKinds.join(', ')}`,
        'Only return transactions of this kind.',
      ),
      currency: byText(
        currencyFilter,
        'Only return transactions in this currency: a three-letter ISO 4217 code, in lower case.',
      ),
      created_from: byTime('Only return transactions created at this time or later.'),
      created_before: byTime('Only return transactions created before this time.'),
    },
    read({ store }, page, { payment: paymentId, kind, currency, ...created }, { reader }) {
      const { created_from: createdFrom, created_before: createdBefore } = created
      const filter = { paymentId, kind, currency, createdFrom, createdBefore }
      return listLedgerTransactions(store.sql, reader, filter, page)
    },
    answer: 'A page of ledger transactions.',
  }),
  'GET /v1/ledger/transactions/:id': readOne({
    operationId: 'getLedgerTransaction',
    summary: 'Retrieve a ledger transaction',
    description: 'Returns a ledger transaction with its entries.',
    of: transaction,
    ...ofLedger,
    answer: 'The ledger transaction.',
  }),
}
