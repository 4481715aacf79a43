// A worker's hold on an operation as the engine carries it from phase to phase. The lease counts from
// before the statement that took it, by this process's monotonic clock, so that it is never believed
// to last longer than the database says.
import { renewIfOwner, type Claim } from '../db/operations/leases.ts'
import type { Engine } from './engine.ts'

/** Another owner has taken the operation, or will: this worker must not write any more. */
export class LeaseLostError extends Error {
  override name = 'LeaseLostError'

  constructor(claim: Pick<Claim, 'id' | 'leaseEpoch' | 'recoveryPoint'>) {
    super(`lease ${claim.leaseEpoch} on operation ${claim.id} at ${claim.recoveryPoint} is lost`)
  }
}

export interface Lease {
  readonly claim: Claim
  /** What the operation's phases work on. */
  readonly subject: unknown
  readonly endsAtMs: number
}

/** The part of a lease that is kept free for recording what a foreign call has told. */
const RECORDING_SHARE = 0.1

/** Whether a foreign call that starts now would be over, and recorded, before the lease is. */
export function coversCall({ settings, clock }: Engine, lease: Lease): boolean {
  const needMs = settings.PROVIDER_TIMEOUT_MS + settings.LEASE_MS * RECORDING_SHARE
  return lease.endsAtMs - clock.monotonicMs() >= needMs
}

/** Whether a foreign call that starts now would be over before this process has to hand over. */
export function endsInTime({ settings, shutdown }: Engine): boolean {
  const leftMs = shutdown?.leftMs()
  return leftMs === undefined || leftMs >= settings.PROVIDER_TIMEOUT_MS
}

export function isOver({ clock }: Engine, lease: Lease): boolean {
  return clock.monotonicMs() >= lease.endsAtMs
}

/**
 * The lease as it is, or renewed when a foreign call would outlast it.
 *
 * @throws LeaseLostError when another owner has it.
 */
export async function renewForCall(engine: Engine, lease: Lease): Promise<Lease> {
  if (coversCall(engine, lease)) return lease
  const { LEASE_MS } = engine.settings
  const endsAtMs = engine.clock.monotonicMs() + LEASE_MS
  if (!(await renewIfOwner(engine.store.sql, lease.claim, LEASE_MS))) {
    throw new LeaseLostError(lease.claim)
  }
  return { ...lease, endsAtMs }
}
