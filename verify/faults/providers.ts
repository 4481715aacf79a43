// The kinds of provider that runs are made against: how each treats idempotency keys, which faults
// it has, and how it is described to the service. With each of them every invariant must hold.
import { findNamed } from './named.ts'

export interface ProviderKind {
  readonly name: string
  /** Whether it honours idempotency keys. */
  readonly mode: 'keep' | 'ignore'
  /** It forgets all keys this long after its last call; by default never within a run. */
  readonly keysExpireMs?: number
  /** Faults of its own, which affect the first calls of every run, in this order. */
  readonly ownFaults: readonly string[]
  /** Faults with which it would break its own promises. They are not injected. */
  readonly without: readonly string[]
  /** The settings that describe it to the service. */
  readonly settings: Readonly<Record<string, string>>
}

export const IDEMPOTENT = 'idempotent'

// prettier-ignore
export const providerKinds: readonly ProviderKind[] = [
  // Like Stripe.
  { name: IDEMPOTENT, mode: 'keep', ownFaults: [], without: [], settings: {} },
  // The service knows the time limit and repeats no call after it.
  { name: 'forgetting', mode: 'keep', keysExpireMs: 1_000, ownFaults: [], without: [],
    settings: { PROVIDER_KEY_WINDOW_SECONDS: '1' } },
  // It executes each call that reaches it. The service knows that, and repeats none that may have run.
  // It promises to execute no request after the settling time: without keys nothing else keeps a late
  // one from being executed beside the one that followed.
  { name: 'keyless', mode: 'ignore', ownFaults: [], without: ['provider-late'],
    settings: { PROVIDER_KEY_WINDOW_SECONDS: '0' } },
  // It charges without an answer, and then reports a wrong amount.
  { name: 'lying', mode: 'keep', ownFaults: ['hang_after', 'wrong_amount'], without: [], settings: {} },
]

/** @throws Error when the kind is unknown. */
export function providerNamed(name: string = IDEMPOTENT): ProviderKind {
  return findNamed('provider', providerKinds, name)
}
