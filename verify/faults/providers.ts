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
  /**
   * By fault, the invariants that no service can keep with it in a run with that fault. Their violations
   * are counted apart.
   */
  readonly unprovable: Readonly<Record<string, readonly number[]>>
}

/** Says which invariants cannot be guaranteed, and with which faults: `1 and 5 with provider-late`. */
export function describeUnprovable({ unprovable }: ProviderKind): string {
  return Object.entries(unprovable)
    .map(([fault, invariants]) => `${invariants.join(' and ')} with ${fault}`)
    .join(', ')
}

export const IDEMPOTENT = 'idempotent'

// prettier-ignore
export const providerKinds: readonly ProviderKind[] = [
  // Like Stripe.
  { name: IDEMPOTENT, mode: 'keep', ownFaults: [], settings: {}, unprovable: {} },
  // The service knows the time limit and repeats no call after it.
  { name: 'forgetting', mode: 'keep', keysExpireMs: 1_000, ownFaults: [],
    settings: { PROVIDER_KEY_WINDOW_SECONDS: '1' }, unprovable: {} },
  // It executes each call that reaches it. The service knows that, and repeats none that may have run.
  // A request that reaches it after the settling time is executed beside the one that followed.
  { name: 'keyless', mode: 'ignore', ownFaults: [],
    settings: { PROVIDER_KEY_WINDOW_SECONDS: '0' }, unprovable: { 'provider-late': [1, 5] } },
  // It charges without an answer, and then reports a wrong amount.
  { name: 'lying', mode: 'keep', ownFaults: ['hang_after', 'wrong_amount'], settings: {}, unprovable: {} },
]

/** @throws Error when the kind is unknown. */
export function providerNamed(name: string = IDEMPOTENT): ProviderKind {
  const kind = providerKinds.find((known) => known.name === name)
  if (kind !== undefined) return kind
  const names = providerKinds.map((known) => known.name).join(', ')
  throw new Error(`unknown provider "${name}"; the providers are ${names}`)
}
