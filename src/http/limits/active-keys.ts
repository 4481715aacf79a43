// How many operations of a tenant may be unfinished at a time. What a process has accepted since it last
// counted is added to that count, so that a request costs no statement until the limit is near.
import type { Logger } from 'pino'
import { ProblemError } from '../../domain/problems/problem-error.ts'

/** How old a count may be before it is taken anew, while the tenant goes on asking. */
const COUNT_AGE_MAX_MS = 1_000

/** Tenants whose counts are kept; beyond that all are counted anew. */
const TENANTS_MAX = 10_000

export interface ActiveKeysLimit {
  /**
   * Reserves a key, unless the tenant has too many that are unfinished. A retry is never refused.
   *
   * @param isKnown whether the key is reserved already; asked only when the limit is reached.
   * @throws ProblemError too-many-active-keys; then nothing was reserved.
   */
  within<Value>(
    tenantId: string,
    isKnown: () => Promise<boolean>,
    reserve: () => Promise<Value>,
  ): Promise<Value>
}

interface Estimate {
  counted: number
  countedAtMs: number
  /** Reserved since the last count began, and so perhaps not in it. */
  since: number
  /** Being reserved now. */
  underWay: number
  counting: Promise<void> | undefined
}

/**
 * @param most how many may be unfinished; 0 for no limit. Several processes may together exceed it by
 *   what they accept in a second.
 * @param countActive counts a tenant's unfinished operations, up to a number.
 */
export function createActiveKeysLimit(
  most: number,
  countActive: (tenantId: string, most: number) => Promise<number>,
  log: Logger,
  now: () => number = () => performance.now(),
): ActiveKeysLimit {
  const estimates = new Map<string, Estimate>()

  const takeCount = async (tenantId: string, estimate: Estimate): Promise<void> => {
    const before = estimate.since
    estimate.countedAtMs = now()
    try {
      estimate.counted = await countActive(tenantId, most)
      estimate.since -= before
    } finally {
      estimate.counting = undefined
    }
  }
  const count = (tenantId: string, estimate: Estimate): Promise<void> =>
    (estimate.counting ??= takeCount(tenantId, estimate))

  const countBehind = (tenantId: string, estimate: Estimate): void => {
    if (now() - estimate.countedAtMs <= COUNT_AGE_MAX_MS) return
    count(tenantId, estimate).catch((error: unknown) =>
      log.warn({ err: error }, 'could not count active keys'),
    )
  }
  const mayBeFull = ({ counted, since, underWay }: Estimate) => counted + since + underWay >= most
  return {
    async within(tenantId, isKnown, reserve) {
      if (most === 0) return await reserve()
      const estimate = estimateOf(estimates, tenantId)
      if (mayBeFull(estimate)) {
        await count(tenantId, estimate)
        // Nothing may come between this look and the line that takes the place.
        if (mayBeFull(estimate) && !(await isKnown())) {
          throw new ProblemError('too-many-active-keys')
        }
      } else {
        countBehind(tenantId, estimate)
      }
      estimate.underWay += 1
      try {
        return await reserve()
      } finally {
        estimate.underWay -= 1
        estimate.since += 1
      }
    },
  }
}

function estimateOf(estimates: Map<string, Estimate>, tenantId: string): Estimate {
  const known = estimates.get(tenantId)
  if (known !== undefined) return known
  if (estimates.size >= TENANTS_MAX) estimates.clear()
  const countedAtMs = -Infinity
  const estimate = { counted: 0, countedAtMs, since: 0, underWay: 0, counting: undefined }
  estimates.set(tenantId, estimate)
  return estimate
}
