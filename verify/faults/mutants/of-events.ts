// Mutants of the handling of provider events: each event is only a hint, whenever it arrives.
import type { Mutant } from './mutant.ts'

export const mutantsOfEvents: readonly Mutant[] = [
  {
    name: 'early-event-dropped',
    breaks: "An event that arrives before the provider's reply is recorded gets dropped.",
    patches: [
      {
        file: 'src/operations/follow-payment/apply-provider-event.ts',
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
        file: 'src/operations/follow-payment/apply-provider-event.ts',
        text: 'const looked = await engine.provider.retrieve(payment)',
        replacement: `const looked = event.type.endsWith('succeeded')
    ? { outcome: 'done' as const, value: { status: 'held' as const } }
    : await engine.provider.retrieve(payment)`,
      },
      {
        file: 'src/engine/provider-call.ts',
        text: '  return provider.retrieve(payment)\n',
        replacement:
          "  return Promise.resolve({ outcome: 'done', value: { status: 'held' } } as never)\n",
      },
    ],
    caughtBy: 5,
    shownBy: [
      'payment.follow.events:webhooks-reordered@api/events/requires_action,succeeded#1/before',
    ],
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
