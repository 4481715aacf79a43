// Ledger transactions and balances as the API shows them, described for openapi.yaml.
import { z } from 'zod'
import { ledgerAccounts, ledgerKinds } from '../../domain/ledger/ledger.ts'
import { EXAMPLE_TIME, exampleId, idField, shownCurrency, timeField } from '../contracts/fields.ts'

const signedAmount = z
  .int()
  .meta({ description: 'In minor units; debits are positive, credits negative.' })

export const ledgerTransactionSchema = z
  .object({
    id: idField('ltx', 'Names the ledger transaction.'),
    object: z.literal('ledger_transaction'),
    kind: z.enum(ledgerKinds),
    payment: idField('pay', 'The payment whose money moved.'),
    refund: idField('re', 'The refund that moved it.').nullable(),
    entries: z
      .array(
        z.object({
          account: z.enum(ledgerAccounts),
          amount: signedAmount,
          currency: shownCurrency,
        }),
      )
      .meta({ description: 'They sum to zero.' }),
    created_at: timeField('When it was posted.'),
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
        entries: [
          { account: 'provider_receivable', amount: 1999, currency: 'usd' },
          { account: 'merchant_payable', amount: -1999, currency: 'usd' },
        ],
        created_at: EXAMPLE_TIME,
      },
    ],
  })

export const ledgerBalanceSchema = z
  .object({
    object: z.literal('ledger_balance'),
    account: z.enum(ledgerAccounts),
    currency: shownCurrency,
    amount: signedAmount,
  })
  .meta({
    id: 'LedgerBalance',
    examples: [
      { object: 'ledger_balance', account: 'merchant_payable', currency: 'usd', amount: -1999 },
    ],
  })
