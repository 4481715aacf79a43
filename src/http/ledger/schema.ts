// Describes the JSON of ledger transactions and balances for openapi.yaml.
import { z } from 'zod'
import { ledgerAccounts, ledgerKinds } from '../../domain/ledger/ledger.ts'
import { EXAMPLE_TIME, exampleId, idField, shownCurrency, timeField } from '../contracts/fields.ts'

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

export const ledgerBalanceSchema = z
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
