// The lease of a worker on an operation, passed from phase to phase. This process counts the lease
// with its monotonic clock, from before the claiming statement. So it never believes in a longer
// lease than the database does.
import { renewIfOwner, type Claim } from '../db/operations/leases.ts'
import type { Engine } from './engine.ts'

/**
 * Another owner has claimed the operation, or will claim it. This worker must not write any more.
 */
export class LeaseLostError extends Error {
  override name = 'LeaseLostError'

  constructor(claim: Pick<Claim, 'id' | 'leaseEpoch' | 'recoveryPoint'>) {
    super(`lease ${claim.leaseEpoch} on operation ${claim.id} at ${claim.recoveryPoint} is lost`)
  }
}

export interface Lease {
  /** The operation at its recovery point of now. What its phases have changed is in `subject`. */
  readonly claim: Claim
  /** The object on which the operation's phases work, as it is now. */
  readonly subject: unknown
  readonly endsAtMs: number
}

/** The share of a lease that is reserved for recording the outcome of a provider call. */
const RECORDING_SHARE = 0.1

/** Whether a provider call that starts now would end and be recorded before the lease expires. */
export function coversCall({ settings, clock }: Engine, lease: Lease): boolean {
  const needMs = settings.PROVIDER_TIMEOUT_MS + settings.LEASE_MS * RECORDING_SHARE
  return lease.endsAtMs - clock.monotonicMs() >= needMs
}

/** Whether a provider call that starts now would end before a shutdown hands the operation over. */
export function endsInTime({ settings, shutdown }: Engine): boolean {
  const leftMs = shutdown?.leftMs()
  return leftMs === undefined || leftMs >= settings.PROVIDER_TIMEOUT_MS
}

export function isOver({ clock }: Engine, lease: Lease): boolean {
  return clock.monotonicMs() >= lease.endsAtMs
}

/**
 * The lease, renewed if a provider call could outlast it.
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
