// Limits how many operations of a tenant may be uncompleted at a time. A process adds the
// operations it accepted since its last count to that count, so that a request costs no statement
// until the limit is near.
import type { Logger } from 'pino'
import { ProblemError } from '../../domain/problems/problem-error.ts'

/** The age at which a count is repeated, as long as the tenant sends requests. */
const COUNT_AGE_MAX_MS = 1_000

/** Tenants whose counts are kept. With more tenants, all counts are dropped and repeated. */
const TENANTS_MAX = 10_000

export interface ActiveKeysLimit {
  /**
   * Reserves a key unless the tenant has too many uncompleted operations. A retry is never refused.
   *
   * @param isKnown whether the key is reserved already; called only when the limit is reached.
   * @throws ProblemError too-many-active-keys, and reserves nothing.
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
  /** Keys reserved since the last count began, which that count may not include. */
  reservedSince: number
  /** Keys that are being reserved now. */
  reserving: number
  counting: Promise<void> | undefined
}

/**
 * @param most how many operations may be uncompleted; 0 for no limit. Several processes together
 *   may exceed it by the number of operations they accept in a second.
 * @param countActive counts the uncompleted operations of a tenant, up to a number.
 */
export function createActiveKeysLimit(
  most: number,
  countActive: (tenantId: string, most: number) => Promise<number>,
  log: Logger,
  now: () => number = () => performance.now(),
): ActiveKeysLimit {
  const estimates = new Map<string, Estimate>()

  const startCount = async (tenantId: string, estimate: Estimate): Promise<void> => {
    const reservedBefore = estimate.reservedSince
    estimate.countedAtMs = now()
    try {
      estimate.counted = await countActive(tenantId, most)
      estimate.reservedSince -= reservedBefore
    } finally {
      estimate.counting = undefined
    }
  }
  const count = (tenantId: string, estimate: Estimate): Promise<void> =>
    (estimate.counting ??= startCount(tenantId, estimate))

  const countInBackground = (tenantId: string, estimate: Estimate): void => {
    if (now() - estimate.countedAtMs <= COUNT_AGE_MAX_MS) return
    count(tenantId, estimate).catch((error: unknown) =>
      log.warn({ err: error }, 'could not count active keys'),
    )
  }
  const mayBeFull = ({ counted, reservedSince, reserving }: Estimate) =>
    counted + reservedSince + reserving >= most
  return {
    async within(tenantId, isKnown, reserve) {
      if (most === 0) return await reserve()
      const estimate = estimateOf(estimates, tenantId)
      if (mayBeFull(estimate)) {
        await count(tenantId, estimate)
        // No `await` may come between this check and the line that increments `reserving`.
        if (mayBeFull(estimate) && !(await isKnown())) {
          throw new ProblemError('too-many-active-keys')
        }
      } else {
        countInBackground(tenantId, estimate)
      }
      estimate.reserving += 1
      try {
        return await reserve()
      } finally {
        estimate.reserving -= 1
        estimate.reservedSince += 1
      }
    },
  }
}

function estimateOf(estimates: Map<string, Estimate>, tenantId: string): Estimate {
  const known = estimates.get(tenantId)
  if (known !== undefined) return known
  if (estimates.size >= TENANTS_MAX) estimates.clear()
  const countedAtMs = -Infinity
  const estimate = { counted: 0, countedAtMs, reservedSince: 0, reserving: 0, counting: undefined }
  estimates.set(tenantId, estimate)
  return estimate
}
