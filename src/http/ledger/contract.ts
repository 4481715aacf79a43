// Contracts of the endpoints for the ledger.
import { z } from 'zod'
import { ledgerKinds } from '../../domain/ledger/ledger.ts'
import { listOf } from '../contracts/fields.ts'
import { ledgerBalanceSchema, ledgerTransactionSchema } from './schema.ts'
import type { Contracts } from '../contracts/contract.ts'
import { idFilter, idInPath, oneOf, timeFilterField } from '../contracts/parameters.ts'

export const ledgerContracts: Contracts = {
  'GET /v1/ledger/balances': {
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
    operationId: 'getLedgerTransaction',
    tag: 'Ledger',
    summary: 'Retrieve a ledger transaction',
    description: 'Returns a ledger transaction with its entries.',
    path: idInPath('ltx', 'The id of the ledger transaction.'),
    answers: { 200: { description: 'The ledger transaction.', schema: ledgerTransactionSchema } },
  },
}
