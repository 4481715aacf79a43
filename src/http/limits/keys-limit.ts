// Limits how many idempotency keys of a kind a tenant may have at a time: those of uncompleted
// operations, and all that are stored. A process adds the keys it reserved since its last count to
// that count, so that a request costs no statement until the limit is near. With a counter in a row,
// each reservation of a tenant would wait for the commit of the one before.
import type { Logger } from 'pino'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { retryAfter } from '../responses/answer.ts'

/** Tenants whose counts are kept. With more tenants, all counts are dropped and repeated. */
const TENANTS_MAX = 10_000

/** A tenant, and how many keys of the kind it may have; 0 for no limit. */
export interface LimitedTenant {
  readonly tenantId: string
  readonly most: number
}

export interface KeysLimit {
  /**
   * Reserves a key unless the tenant has too many. A retry is never refused.
   *
   * @param isKnown whether the key is reserved already; called only when the limit is reached.
   * @throws ProblemError of the kind, and reserves nothing.
   */
  within<Value>(
    tenant: LimitedTenant,
    isKnown: () => Promise<boolean>,
    reserve: () => Promise<Value>,
  ): Promise<Value>
}

export interface KeyKind {
  /** Refuses a new key. */
  readonly refusal: () => ProblemError
  /** Whether the first key of a tenant waits until the others are counted. */
  readonly awaitsFirstCount: boolean
  /** While the limit is reached, the keys are counted again when the last count is as old. */
  readonly recountAfterMs: number
  /**
   * Below the limit, whether to count again in the background.
   *
   * @param reserved keys reserved since the last count, which left so much `room` for them.
   */
  readonly isOld: (count: { ageMs: number; reserved: number; room: number }) => boolean
}

/**
 * Keys of uncompleted operations. Several processes together may exceed the limit by the number of
 * operations they accept in a second.
 */
export const activeKeys: KeyKind = {
  refusal: () => new ProblemError('too-many-active-keys'),
  awaitsFirstCount: false,
  recountAfterMs: 0,
  isOld: ({ ageMs }) => ageMs > 1_000,
}

/** A count of stored keys reads up to a million entries of an index. */
const STORED_COUNT_REST_MS = 10_000

/** Keys end after a day or later. A client that asks each second would gain nothing. */
const STORED_RETRY_SECONDS = 60

/**
 * All stored keys. A key that was reserved while a count ran may count twice until the next count, so
 * the limit may be reached too early for ten seconds. Each process counts again after it has used a
 * sixteenth of the room that its last count left. So n processes together exceed the limit by at most
 * n sixteenths.
 */
export const storedKeys: KeyKind = {
  refusal: () =>
    new ProblemError('too-many-stored-keys', { headers: retryAfter(STORED_RETRY_SECONDS) }),
  awaitsFirstCount: true,
  recountAfterMs: STORED_COUNT_REST_MS,
  isOld: ({ ageMs, reserved, room }) => ageMs > STORED_COUNT_REST_MS && reserved > room / 16,
}

interface Estimate {
  /** The limit that the count went up to. */
  most: number
  /** Undefined until the first count, if that is awaited. */
  counted: number | undefined
  countedAtMs: number
  /** Keys reserved since the last count began, which that count may not include. */
  reservedSince: number
  /** Keys that are being reserved now. */
  reserving: number
  counting: Promise<void> | undefined
}

/** @param countKeys counts the keys of a tenant, up to its limit. */
export function createKeysLimit(
  kind: KeyKind,
  countKeys: (tenant: LimitedTenant) => Promise<number>,
  log: Logger,
  now: () => number = () => performance.now(),
): KeysLimit {
  const estimates = new Map<string, Estimate>()

  const startCount = async (tenant: LimitedTenant, estimate: Estimate): Promise<void> => {
    const reservedBefore = estimate.reservedSince
    estimate.countedAtMs = now()
    try {
      estimate.counted = await countKeys(tenant)
      estimate.reservedSince -= reservedBefore
    } catch (error) {
      // The store decides whether it can reserve a key. A count that fails refuses none.
      estimate.counted ??= 0
      log.warn({ err: error }, 'could not count the keys of a tenant')
    } finally {
      estimate.counting = undefined
    }
  }
  const count = (tenant: LimitedTenant, estimate: Estimate): Promise<void> =>
    (estimate.counting ??= startCount(tenant, estimate))

  const countInBackground = (tenant: LimitedTenant, estimate: Estimate): void => {
    const { counted = 0, countedAtMs, reservedSince: reserved } = estimate
    const ageMs = now() - countedAtMs
    const isFirst = ageMs === Infinity
    if (isFirst || kind.isOld({ ageMs, reserved, room: tenant.most - counted })) {
      void count(tenant, estimate)
    }
  }
  const mayBeFull = ({ most, counted, reservedSince, reserving }: Estimate) =>
    counted === undefined || counted + reservedSince + reserving >= most
  return {
    async within(tenant, isKnown, reserve) {
      if (tenant.most === 0) return await reserve()
      const estimate = estimateOf(estimates, kind, tenant)
      if (mayBeFull(estimate)) {
        const isCounting = estimate.counting !== undefined
        if (isCounting || now() - estimate.countedAtMs >= kind.recountAfterMs) {
          await count(tenant, estimate)
        }
        // No `await` may come between this check and the line that increments `reserving`.
        if (mayBeFull(estimate)) {
          if (await isKnown()) return await reserve()
          throw kind.refusal()
        }
      } else {
        countInBackground(tenant, estimate)
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

function estimateOf(
  estimates: Map<string, Estimate>,
  { awaitsFirstCount }: KeyKind,
  { tenantId, most }: LimitedTenant,
): Estimate {
  const known = estimates.get(tenantId)
  if (known !== undefined) {
    // What was counted up to a lower limit may be less than the tenant has.
    if (known.most !== most) Object.assign(known, { most, countedAtMs: -Infinity })
    return known
  }
  if (estimates.size >= TENANTS_MAX) estimates.clear()
  const counted = awaitsFirstCount ? undefined : 0
  const none = { countedAtMs: -Infinity, reservedSince: 0, reserving: 0, counting: undefined }
  const estimate = { ...none, most, counted }
  estimates.set(tenantId, estimate)
  return estimate
}
