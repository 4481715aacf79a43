// The kinds of provider that the runs are made against: how each treats idempotency keys, how it lies, and what
// cannot be promised to its merchants, whatever the service does.
import { setTimeout as wait } from 'node:timers/promises'
import type { Lane } from './lane.ts'

export interface ProviderKind {
  readonly name: string
  /** Whether it looks at idempotency keys at all. */
  readonly mode: 'keep' | 'ignore'
  /** So long after its last call it forgets every key; left out: never within a run. */
  readonly remembersMs?: number
  /** Its own faults, which strike the first calls of every run, one after the other. */
  readonly lies: readonly string[]
  /** What the service is told of it. */
  readonly settings: Readonly<Record<string, string>>
  /** The invariants that it makes impossible to keep. What breaks them is counted apart. */
  readonly unprovable: readonly number[]
}

export const IDEMPOTENT = 'idempotent'

// prettier-ignore
export const providerKinds: readonly ProviderKind[] = [
  // As Stripe is.
  { name: IDEMPOTENT, mode: 'keep', lies: [], settings: {}, unprovable: [] },
  // The service knows for how long, and repeats nothing later than that.
  { name: 'forgetting', mode: 'keep', remembersMs: 1_000, lies: [],
    settings: { PROVIDER_KEY_WINDOW_SECONDS: '1' }, unprovable: [] },
  // A call whose answer was lost is made again, and executed again.
  { name: 'not-idempotent', mode: 'ignore', lies: [], settings: {}, unprovable: [1, 5] },
  // It charges and does not answer, and then names a wrong amount.
  { name: 'lying', mode: 'keep', lies: ['hang_after', 'wrong_amount'], settings: {}, unprovable: [] },
]

/**
 * For mutants alone: it looks at no key, and a service that knows repeats no call before it has looked. So none
 * is ever made twice, and everything can be promised.
 */
const KEYLESS: ProviderKind = {
  name: 'keyless',
  mode: 'ignore',
  lies: [],
  settings: {
    // As long as the window at least: what a lease was lost over is never repeated.
    LEASE_MS: '1100',
    PROVIDER_KEY_WINDOW_SECONDS: '1',
    CALL_ATTEMPTS: '1',
    JOB_RETRY_DELAY_SECONDS: '2',
  },
  unprovable: [],
}

/** @throws Error when there is no such kind. */
export function providerNamed(name: string = IDEMPOTENT): ProviderKind {
  const kind = [...providerKinds, KEYLESS].find((known) => known.name === name)
  if (kind !== undefined) return kind
  const names = providerKinds.map((known) => known.name).join(', ')
  throw new Error(`no provider is called "${name}"; there are ${names}`)
}

/** Has the lane's provider be of that kind while the work is done. */
export async function playProvider<Result>(
  lane: Lane,
  kind: ProviderKind,
  work: () => Promise<Result>,
): Promise<Result> {
  // A scenario may have made the usual one another already.
  if (kind.mode !== 'keep') await setMode(lane, kind.mode)
  for (const fault of kind.lies) {
    await lane.provider.plantFault({ match: { method: 'POST' }, fault, times: 1 })
  }
  const over = new AbortController()
  const forgetting =
    kind.remembersMs === undefined
      ? Promise.resolve()
      : forgetAfter(lane, kind.remembersMs, over.signal)
  // It is waited for at the end.
  forgetting.catch(() => {})
  try {
    return await work()
  } finally {
    over.abort()
    await forgetting
    if (kind.mode !== 'keep') await setMode(lane, 'keep')
  }
}

const LOOK_EACH_MS = 20

async function forgetAfter(lane: Lane, ms: number, over: AbortSignal): Promise<void> {
  let forgottenAt = performance.now()
  while (!over.aborted) {
    const last = Math.max(...lane.processes.map(({ provider }) => provider.passed.at(-1)?.at ?? 0))
    if (last > forgottenAt && performance.now() - last > ms) {
      forgottenAt = performance.now()
      await setMode(lane, 'forget')
      await setMode(lane, 'keep')
    }
    await wait(LOOK_EACH_MS)
  }
}

async function setMode({ provider }: Lane, mode: 'keep' | 'forget' | 'ignore'): Promise<void> {
  await provider.control('POST', 'idempotency', { mode })
}
