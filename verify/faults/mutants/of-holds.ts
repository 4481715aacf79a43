// Mutants of money that is held, or may be held, without a payment that says so.
import type { Mutant } from './mutant.ts'

export const mutantsOfHolds: readonly Mutant[] = [
  {
    name: 'void-forgotten',
    breaks: 'A payment whose capture was refused ends as declined, and its money stays held.',
    patches: [
      {
        file: 'src/operations/create-payment/phases.ts',
        text: 'if (outcome.canceled !== undefined) return recordDecline(payment, outcome)',
        replacement: 'if (payment !== undefined) return recordDecline(payment, outcome)',
      },
    ],
    caughtBy: 5,
    shownBy: ['payment.create.refused'],
  },
  {
    name: 'refused-capture-ends-the-payment',
    breaks: 'A refused capture ends the payment, which can be neither captured nor canceled.',
    patches: [
      {
        file: 'src/operations/payment-answers.ts',
        text: "? { status: 'requires_capture' }",
        replacement: "? { status: 'declined', failure }",
      },
    ],
    caughtBy: 5,
    shownBy: ['payment.capture.refused'],
  },
  {
    name: 'second-hold-kept',
    breaks: 'A hold that the provider completes late stays until it ends by itself.',
    patches: [
      {
        file: 'src/operations/release-hold/apply-surplus-event.ts',
        text: "if (theirs === undefined || !isSurplusHold(payment, theirs)) return 'unmatched'",
        replacement:
          "if (theirs !== undefined || isSurplusHold(payment, theirs)) return 'unmatched'",
      },
    ],
    caughtBy: 7,
    shownBy: ['hold.release'],
  },
  {
    name: 'expired-action-not-canceled',
    breaks: 'A payment whose cardholder never authenticates waits for ever.',
    patches: [
      {
        file: 'src/operations/follow-payment/apply-payment-event.ts',
        text: "return isExpired ? await expire(engine, payment) : 'pending'",
        replacement: "return isExpired && false ? await expire(engine, payment) : 'pending'",
      },
    ],
    caughtBy: 7,
    shownBy: ['payment.cancel.expired'],
  },
  {
    name: 'expired-hold-not-looked-at',
    breaks: 'A hold that has ended stays capturable for ever when the events of it are lost.',
    patches: [
      {
        file: 'src/db/payments/expiring-payments.ts',
        text: "(({ status }) => status === 'requires_capture')",
        replacement: "(({ status }) => status === 'canceled')",
      },
    ],
    caughtBy: 7,
    shownBy: ['payment.follow.expired'],
  },
  {
    name: 'expiry-announced-again',
    breaks: 'The end of a hold is announced by every worker, as often as it sweeps.',
    patches: [
      {
        file: 'src/db/payments/expiring-payments.ts',
        text: "takeStep(tx, 'look', isDue, limit)",
        replacement: "takeStep(tx, 'announce', isDue, limit)",
      },
    ],
    caughtBy: 1,
    shownBy: ['payment.follow.expired'],
  },
]
