// Mutants of the ledger and of the amounts that refunds reserve.
import type { Mutant } from './mutant.ts'

export const mutantsOfMoney: readonly Mutant[] = [
  {
    name: 'told-but-not-recorded',
    breaks: 'The answer says that the payment has succeeded, but its row does not.',
    patches: [
      {
        file: 'src/operations/create-payment/phases.ts',
        text: 'return finishWithPayment(201, succeeded, { payment: succeeded })',
        replacement: 'return finishWithPayment(201, succeeded, {})',
      },
    ],
    caughtBy: 2,
    shownBy: ['payment.create'],
  },
  {
    name: 'capture-told-and-not-made',
    breaks: 'The answer says that the money was captured, but the provider was not called.',
    patches: [
      {
        file: 'src/engine/provider-call.ts',
        text: '  return callNamed(provider, name).execute(subject, identity)\n',
        replacement: `  const { amountMinor } = subject as { amountMinor?: number }
  if (name !== 'capture' || amountMinor === undefined) {
    return callNamed(provider, name).execute(subject, identity)
  }
  const value = { amountCapturedMinor: amountMinor }
  return Promise.resolve({ outcome: 'done', value, asked: {}, answered: {} } as const)
`,
      },
      {
        file: 'src/operations/capture-payment/phases.ts',
        text: 'return finishWithPayment(200, captured, { payment: captured, ledger })',
        replacement:
          "return finishWithPayment(200, captured, { payment: paymentAfter(payment, { status: 'requires_capture' }) })",
      },
    ],
    caughtBy: 2,
    shownBy: ['payment.capture'],
  },
  {
    name: 'capture-not-posted',
    breaks: 'A capture is not posted to the ledger.',
    patches: [
      {
        file: 'src/operations/create-payment/phases.ts',
        text: "return advanceTo('captured', { payment: captured }, { payment: captured, ledger })",
        replacement: "return advanceTo('captured', { payment: captured }, { payment: captured })",
      },
    ],
    caughtBy: 5,
    shownBy: ['payment.create'],
  },
  {
    name: 'capture-posted-twice',
    breaks: 'A phase posts all of its entries twice.',
    patches: [
      {
        file: 'src/db/ledger/ledger.ts',
        text: '    entry.postings.map(',
        replacement: '    [...entry.postings, ...entry.postings].map(',
      },
    ],
    schema: ['alter table ledger_postings drop constraint ledger_postings_once'],
    caughtBy: 5,
    shownBy: ['payment.create'],
  },
  {
    name: 'wrong-amount-posted',
    breaks: 'The ledger has one minor unit more than the provider.',
    patches: [
      {
        file: 'src/domain/ledger/ledger.ts',
        text: 'postings: postingsOfCapture(amountCapturedMinor, fees)',
        replacement: 'postings: postingsOfCapture(amountCapturedMinor + 1, fees)',
      },
    ],
    caughtBy: 5,
    shownBy: ['payment.create'],
  },
  {
    name: 'fee-posted-twice',
    breaks: 'A fee of the provider is posted each time its movement is compared.',
    patches: [
      {
        file: 'src/db/ledger/provider-fees.ts',
        text: ' on conflict do nothing\n',
        replacement: '',
      },
    ],
    schema: ['alter table ledger_postings drop constraint ledger_postings_once'],
    caughtBy: 5,
    shownBy: ['movements.compared'],
  },
  {
    name: 'partial-capture-as-booked',
    breaks: 'What a partial capture released counts as captured.',
    patches: [
      {
        file: 'src/provider/stripe/records/movements.ts',
        text: 'isSame ? moved - releasedMinor : gross',
        replacement: 'isSame ? moved : gross',
      },
    ],
    caughtBy: 5,
    shownBy: ['movements.compared'],
  },
  {
    name: 'unknown-movement-dropped',
    breaks: 'A movement that the adapter does not know is left out.',
    patches: [
      {
        file: 'src/reconciliation/compare-other-movements.ts',
        text: "page.filter(({ kind }) => kind === 'unknown')",
        replacement: 'page.filter(() => false)',
      },
    ],
    caughtBy: 5,
    shownBy: ['movements.compared'],
  },
  {
    name: 'ledger-unbalanced',
    breaks: 'The entries of a ledger transaction do not sum to zero.',
    patches: [
      {
        file: 'src/domain/ledger/ledger-transaction.ts',
        text: 'amount: -amountMinor, currency',
        replacement: 'amount: 1 - amountMinor, currency',
      },
    ],
    caughtBy: 4,
    shownBy: ['payment.create'],
  },
  {
    name: 'refund-not-reserved',
    breaks: 'Concurrent refunds may exceed the capture, with a provider that does not check.',
    patches: [
      {
        file: 'src/db/payments/refunds.ts',
        text: 'set amount_refunding_minor = amount_refunding_minor + ${amount}, updated_at',
        replacement: 'set updated_at',
      },
      {
        file: 'src/db/payments/refunds.ts',
        text: 'if (amount <= 0 || amount > left) continue',
        replacement: 'if (amount <= 0) continue',
      },
      {
        file: 'dev/stripe-stand-in/refunds/refunds.ts',
        text: 'if (left === 0) {',
        replacement: 'if (left === 0 && asked === undefined) {',
      },
      {
        file: 'dev/stripe-stand-in/refunds/refunds.ts',
        text: 'if (asked !== undefined && asked > left) {',
        replacement: 'if (asked !== undefined && asked > intent.amount_received) {',
      },
    ],
    schema: ['alter table payments drop constraint payments_amounts_nest'],
    caughtBy: 1,
    shownBy: ['refund.create.at-once'],
  },
]
