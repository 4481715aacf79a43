// Mutants of the handling of provider events: each event is only a hint, whenever it arrives.
import type { Mutant } from './mutant.ts'

export const mutantsOfEvents: readonly Mutant[] = [
  {
    name: 'early-event-dropped',
    breaks: "An event that arrives before the provider's reply is recorded gets dropped.",
    patches: [
      {
        file: 'src/operations/follow-payment/apply-payment-event.ts',
        text: "if (payment.providerPaymentId === null && !isFinal(payment.status)) return 'pending'",
        replacement:
          "if (payment.providerPaymentId === null && !isFinal(payment.status)) return 'ignored'",
      },
    ],
    caughtBy: 7,
    shownBy: [
      'payment.follow.early.events:webhooks-early@api/events/authentication,amount_capturable_updated#1/before',
    ],
  },
  {
    name: 'event-taken-for-the-truth',
    breaks: 'The content of an event is believed without a look-up.',
    patches: [
      {
        file: 'src/operations/follow-payment/apply-payment-event.ts',
        text: 'const looked = await engine.providers.named(payment.provider).retrieve(payment)',
        replacement: `const looked = event.type.endsWith('succeeded')
    ? { outcome: 'done' as const, value: { status: 'held' as const } }
    : await engine.providers.named(payment.provider).retrieve(payment)`,
      },
      {
        file: 'src/engine/provider-call.ts',
        text: "  if (name === 'retrieve') return provider.retrieve(payment)\n",
        replacement: `  if (name === 'retrieve')
    return Promise.resolve({ outcome: 'done', value: { status: 'held' } } as never)
`,
      },
    ],
    caughtBy: 5,
    shownBy: [
      'payment.follow.events:webhooks-reordered@api/events/requires_action,succeeded#1/before',
    ],
  },
  {
    name: 'failed-refund-final',
    breaks: 'A refund that succeeded stays so, although it fails later.',
    patches: [
      {
        file: 'src/domain/payments/refund-standing.ts',
        text: '  const following: readonly string[] = refundTransitions[refund.status]\n',
        replacement: `  if (refund.status === 'succeeded') return false
  const following: readonly string[] = refundTransitions[refund.status]
`,
      },
    ],
    caughtBy: 5,
    shownBy: ['refund.follow'],
  },
  {
    name: 'failed-refund-not-posted',
    breaks: 'The ledger never learns that the money of a failed refund is back.',
    patches: [
      {
        file: 'src/domain/payments/refund-standing.ts',
        text: '      ...(moved && hasReturned(standing) ? [entryOfFailedRefund(refund)] : []),\n',
        replacement: '',
      },
    ],
    caughtBy: 5,
    shownBy: ['refund.follow'],
  },
  {
    name: 'failed-refund-keeps-its-amount',
    breaks: 'The amount of a failed refund can never be refunded again.',
    patches: [
      {
        file: 'src/db/payments/refund-changes.ts',
        text: '(givenBy(status) - givenBy(previousStatus)) * amountMinor',
        replacement: 'givenBy(status) * amountMinor',
      },
    ],
    caughtBy: 5,
    shownBy: ['refund.follow'],
  },
  {
    name: 'event-acknowledged-and-not-applied',
    breaks: 'An event that a worker cannot apply yet is not retried.',
    patches: [
      {
        file: 'workers/provider-event-worker.ts',
        text: "return { id, status: 'failed', output: { reason: 'not applicable yet' } }",
        replacement: "return { id, status: 'completed' }",
      },
    ],
    caughtBy: 7,
    shownBy: [
      'payment.follow.early.events:webhooks-early@api/events/authentication,amount_capturable_updated#1/before',
    ],
  },
]
