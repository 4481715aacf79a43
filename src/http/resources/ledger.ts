// GET /v1/ledger/balances, /v1/ledger/transactions and /v1/ledger/transactions/:id.
import { z } from 'zod'
import { ledgerAccounts, ledgerKinds } from '../../domain/ledger/ledger.ts'
import {
  presentLedgerBalance,
  parseLedgerTransactionId,
  presentLedgerTransaction,
} from '../../domain/ledger/ledger-transaction.ts'
import {
  EXAMPLE_TIME,
  exampleId,
  idField,
  shownCurrency,
  timeField,
  listOf,
} from '../contracts/fields.ts'
import {
  readLedgerBalances,
  listLedgerTransactions as readTransactions,
  findLedgerTransaction,
} from '../../db/ledger/ledger-transactions.ts'
import { showJson, showPage } from '../responses/answer.ts'
import type { TenantEndpoint } from '../endpoint.ts'
import {
  refuseQuery,
  parseFilteredQuery,
  currencyFilter,
  oneOfFilter,
  paymentFilter,
  timeFilter,
} from '../requests/list-query.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { tenant } from '../server/route.ts'
import type { Endpoints } from '../contracts/contract.ts'
import { idFilter, idInPath, oneOf, timeFilterField } from '../contracts/parameters.ts'

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

const listLedgerBalances: TenantEndpoint = async ({ store }, request, tenantId) => {
  refuseQuery(request.query)
  const balances = await readLedgerBalances(store.sql, tenantId)
  return showJson({ object: 'list', data: balances.map(presentLedgerBalance), has_more: false })
}

const knownFilters = {
  payment: paymentFilter,
  kind: oneOfFilter(`one of ${ledgerKinds.join(', ')}`, ledgerKinds),
  currency: currencyFilter,
  created_from: timeFilter,
  created_before: timeFilter,
}

const listLedgerTransactions: TenantEndpoint = async ({ store }, request, tenantId) => {
  const { page, filters } = parseFilteredQuery(
    request.query,
    parseLedgerTransactionId,
    knownFilters,
  )
  const filter = {
    paymentId: filters.payment,
    kind: filters.kind,
    currency: filters.currency,
    createdFrom: filters.created_from,
    createdBefore: filters.created_before,
  }
  const transactions = await readTransactions(store.sql, tenantId, filter, page)
  return showPage(transactions, presentLedgerTransaction)
}

const getLedgerTransaction: TenantEndpoint = async ({ store }, request, tenantId) => {
  const id = parseLedgerTransactionId(String(request.params['id']))
  const transaction =
    id === undefined ? undefined : await findLedgerTransaction(store.sql, tenantId, id)
  if (transaction === undefined) throw new ProblemError('resource-not-found')
  return showJson(presentLedgerTransaction(transaction))
}

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
  'GET /v1/ledger/transactions': {
    serve: tenant(listLedgerTransactions, 'ledger:read'),
    operationId: 'listLedgerTransactions',
    tag: 'Ledger',
    summary: 'List ledger transactions',
    description:
      'Returns your ledger transactions, newest first. One is shown only when no earlier one can still appear, so that a program can follow the list with `ending_before`.',
    isList: true,
    query: z.object({
      payment: idFilter('pay', 'Only return the transactions of this payment.'),
      kind: oneOf(ledgerKinds, 'Only return transactions of this kind.'),
      currency: z
        .string()
        .meta({
          description:
            'Only return transactions in this currency: a three-letter ISO 4217 code, in lower case.',
        })
        .optional(),
      created_from: timeFilterField('Only return transactions created at this time or later.'),
      created_before: timeFilterField('Only return transactions created before this time.'),
    }),
    answers: {
      200: {
        description: 'A page of ledger transactions.',
        schema: listOf('LedgerTransactionList', ledgerTransactionSchema),
      },
    },
  },
  'GET /v1/ledger/transactions/:id': {
    serve: tenant(getLedgerTransaction, 'ledger:read'),
    operationId: 'getLedgerTransaction',
    tag: 'Ledger',
    summary: 'Retrieve a ledger transaction',
    description: 'Returns a ledger transaction with its entries.',
    path: idInPath('ltx', 'The id of the ledger transaction.'),
    answers: { 200: { description: 'The ledger transaction.', schema: ledgerTransactionSchema } },
  },
}
