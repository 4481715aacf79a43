// Mutants of what is concluded about calls that the provider executes, or completes, late.
import { KEYLESS, type Mutant } from './mutant.ts'

/** The resolver looks soon and often, so that it looks before the provider executes. */
const EARLY_LOOKS = { CHECK_INTERVAL_MS: '100', CHECK_DELAYS_SECONDS: '0.1,1.1,2,3,4,6,8,10' }

export const mutantsOfLateCalls: readonly Mutant[] = [
  {
    name: 'absence-believed-too-early',
    breaks: 'A call counts as not executed while it may still be on its way.',
    patches: [
      {
        file: 'src/recovery/absence.ts',
        text: 'check.unknownForSeconds >= settleSeconds(',
        replacement: 'check.unknownForSeconds >= 0 * settleSeconds(',
      },
    ],
    // The outcome is unknown after the first try, and no key keeps the retry from a second charge.
    circumstances: { settings: { ...KEYLESS.settings, JOB_RETRY_LIMIT: '0', ...EARLY_LOOKS } },
    caughtBy: 1,
    shownBy: [
      'payment.create~keyless:provider-hang-late@worker/provider-authorize/request#1/before',
    ],
  },
  {
    name: 'failed-refund-believed-absent',
    breaks:
      'A refund whose 500 the provider keeps is made again under a new key, without a person.',
    patches: [
      {
        file: 'src/recovery/absence.ts',
        text: 'if (!mayBeCompletedLater(engine, check)) return',
        replacement: 'if (engine !== undefined) return',
      },
      // Otherwise the second refund exceeds what is left, and is refused.
      {
        file: 'dev/stripe-stand-in/refunds/refunds.ts',
        text: 'if (asked !== undefined && asked > left) {',
        replacement: 'if (asked !== undefined && asked > intent.amount_received) {',
      },
    ],
    circumstances: { settings: { ...EARLY_LOOKS, PROVIDER_SETTLE_SECONDS: '0' } },
    caughtBy: 1,
    shownBy: ['refund.create:provider-error-500-late@worker/provider-refund/request#1/before'],
  },
]
