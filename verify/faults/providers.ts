// The kinds of provider that runs are made against: how each treats idempotency keys, which faults
// it has, and which invariants no service can keep with it.

export interface ProviderKind {
  readonly name: string
  /** Whether it honours idempotency keys. */
  readonly mode: 'keep' | 'ignore'
  /** It forgets all keys this long after its last call; by default never within a run. */
  readonly keysExpireMs?: number
  /** Faults of its own, which affect the first calls of every run, in this order. */
  readonly ownFaults: readonly string[]
  /** The settings that describe it to the service. */
  readonly settings: Readonly<Record<string, string>>
  /** The invariants that no service can keep with it. Their violations are counted apart. */
  readonly unprovable: readonly number[]
}

export const IDEMPOTENT = 'idempotent'

// prettier-ignore
export const providerKinds: readonly ProviderKind[] = [
  // Like Stripe.
  { name: IDEMPOTENT, mode: 'keep', ownFaults: [], settings: {}, unprovable: [] },
  // The service knows the time limit and repeats no call after it.
  { name: 'forgetting', mode: 'keep', keysExpireMs: 1_000, ownFaults: [],
    settings: { PROVIDER_KEY_WINDOW_SECONDS: '1' }, unprovable: [] },
  // A call whose answer was lost is made again and executed again.
  { name: 'not-idempotent', mode: 'ignore', ownFaults: [], settings: {}, unprovable: [1, 5] },
  // It charges without an answer, and then reports a wrong amount.
  { name: 'lying', mode: 'keep', ownFaults: ['hang_after', 'wrong_amount'], settings: {}, unprovable: [] },
]

/**
 * For mutants only: it ignores idempotency keys, and the settings make the service look up every
 * call before it repeats one. So no call is made twice, and every invariant can be kept.
 */
const KEYLESS: ProviderKind = {
  name: 'keyless',
  mode: 'ignore',
  ownFaults: [],
  settings: {
    // At least the key window, so that a call whose lease expired is never repeated.
    LEASE_MS: '1100',
    PROVIDER_KEY_WINDOW_SECONDS: '1',
    CALL_ATTEMPTS: '1',
    JOB_RETRY_DELAY_SECONDS: '2',
  },
  unprovable: [],
}

/** @throws Error when the kind is unknown. */
export function providerNamed(name: string = IDEMPOTENT): ProviderKind {
  const kind = [...providerKinds, KEYLESS].find((known) => known.name === name)
  if (kind !== undefined) return kind
  const names = providerKinds.map((known) => known.name).join(', ')
  throw new Error(`unknown provider "${name}"; the providers are ${names}`)
}
