// What the shortage faults share: PostgreSQL itself must have refused the process, and when the
// shortage is over new payments must succeed at once.
import { setTimeout as wait } from 'node:timers/promises'
import { storeErrorKind } from '../../src/db/connection/store-errors.ts'
import { checkReturn } from './bounds.ts'
import type { FaultContext } from './fault.ts'
import type { Lane, LaneTenant } from './lane.ts'
import { AUTOMATIC } from './payments.ts'
import type { Role } from './points.ts'
import type { Violation } from './results.ts'
import { Merchant } from './merchant.ts'
import { RECOVERY_LIMIT_MS } from './bounds.ts'
import { poll } from './poll.ts'

const REFUSAL_LIMIT_MS = 8_000
const POLL_MS = 10

/** Pays after the shortage. The store has served again since `servesAt`. */
export async function payAgain(
  {
    lane,
    merchant,
    reportReturn,
    isConcurrent,
  }: Pick<FaultContext, 'lane' | 'merchant' | 'reportReturn' | 'isConcurrent'>,
  servesAt: number,
): Promise<Violation[]> {
  const tenant = await createTenantWhenServed(lane, merchant.signal)
  const next = new Merchant(lane, tenant, merchant.signal)
  const { status, resource } = await next.pay(AUTOMATIC)
  const ms = performance.now() - servesAt
  reportReturn(ms)
  const what = `the first payment after the outage was answered ${status} ${resource.status ?? ''}`
  const hasSucceeded = resource.status === 'succeeded'
  return [...(hasSucceeded ? [] : [{ invariant: 7, what }]), ...checkReturn(ms, isConcurrent)]
}

/**
 * The lane's own connection may have been opened while the store was away, or to a former primary,
 * and fails then.
 */
export async function createTenantWhenServed(lane: Lane, signal: AbortSignal): Promise<LaneTenant> {
  const endsAt = performance.now() + RECOVERY_LIMIT_MS
  for (;;) {
    try {
      return await lane.createTenant()
    } catch (error) {
      const isOver = signal.aborted || performance.now() > endsAt
      if (isOver || storeErrorKind(error) === undefined) throw error
      await wait(POLL_MS)
    }
  }
}

interface RefusalWait {
  /** How many such errors the process had before. */
  readonly before: number
  readonly limitMs?: number
}

/** Resolves when the process got the error from PostgreSQL. Without one the fault has missed. */
export async function untilRefused(
  { lane, reportMissed }: Pick<FaultContext, 'lane' | 'reportMissed'>,
  role: Role,
  sqlState: string,
  { before, limitMs = REFUSAL_LIMIT_MS }: RefusalWait,
): Promise<void> {
  const isRefused = () => countErrors(lane, role, sqlState) > before
  if (!(await poll(limitMs, isRefused, { pauseMs: POLL_MS }))) reportMissed()
}

/** How many such errors the live processes of a role got from PostgreSQL. */
export function countErrors({ processes }: Lane, role: Role, sqlState: string): number {
  const own = processes.filter((process) => process.role === role)
  return own.flatMap(({ store }) => store.sqlErrors).filter((state) => state === sqlState).length
}
