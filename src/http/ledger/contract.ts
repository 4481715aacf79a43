// The contracts of the endpoints of the ledger.
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
    summary: 'Read the balance of every account in every currency',
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
    summary: 'List ledger transactions, newest first',
    isList: true,
    query: z.object({
      payment: idFilter('pay', 'Only those of this payment.'),
      kind: oneOf(ledgerKinds, 'Only those of this kind.'),
      currency: z.string().meta({ description: 'Only those in this currency.' }).optional(),
      created_from: timeFilterField('Only those of this time and later.'),
      created_before: timeFilterField('Only those before this time.'),
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
    summary: 'Read a ledger transaction',
    path: idInPath('ltx', 'The ledger transaction.'),
    answers: { 200: { description: 'The ledger transaction.', schema: ledgerTransactionSchema } },
  },
}
