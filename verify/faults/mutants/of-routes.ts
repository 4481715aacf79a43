// Mutants of payments that may move to a second provider.
import type { Mutant } from './mutant.ts'

export const mutantsOfRoutes: readonly Mutant[] = [
  {
    name: 'moves-in-doubt',
    breaks:
      'A payment moves when the last try was not executed, although an earlier one may have been.',
    patches: [
      {
        file: 'src/engine/call.ts',
        text: "if (call.kind !== 'open' || call.inDoubt) return call",
        replacement: "if (call.kind !== 'open') return call",
      },
    ],
    caughtBy: 1,
    shownBy: [
      'payment.create.routed:reset@worker/provider-authorize/reply#1/before+provider-rate-limited@worker/provider-authorize/request#2/before',
    ],
  },
  {
    name: 'may-move-after-a-doubt',
    breaks: 'A payment moves that was in doubt once, because its absence counts as proved.',
    patches: [
      {
        file: 'src/recovery/claim-unknown.ts',
        text: '    await dropFallbackIfOwner(tx, claim)\n',
        replacement: '    void dropFallbackIfOwner\n',
      },
    ],
    // The first doubt ends in a look-up, which proves absence. The provider executes the call after that.
    circumstances: { settings: { JOB_RETRY_LIMIT: '0' } },
    caughtBy: 1,
    shownBy: [
      'payment.create.routed:provider-late@worker/provider-authorize/request#1/before+provider-rate-limited@worker/provider-authorize/request#2/before',
    ],
  },
]
