// Creates an operation between its capture and its completion. Current workers record both with one
// statement. A worker of an earlier version records them separately, and may die in between.
import { advanceIfOwner } from './record-phase.ts'
import type { OperationRef } from '../../src/domain/operations/operation.ts'
import { recordCapture } from '../../src/operations/create-payment/phases.ts'
import { dieAt } from './engine-doubles.ts'
import type { TestEngine } from './engine.ts'
import { claimIfUnowned } from './claim.ts'

/** Captures, and leaves the operation at `captured` under a valid lease. */
export async function leaveCaptured(t: TestEngine, ref: OperationRef): Promise<void> {
  const { engine } = t
  await dieAt(t, ref, 'authorized')
  await t.expireLease(ref)
  const { LEASE_MS } = engine.settings
  const claim = await claimIfUnowned(engine.store.sql, ref, LEASE_MS)
  if (claim === undefined) throw new Error(`operation ${ref.id} is not to be had`)
  const captured = {
    outcome: 'done',
    value: { amountCapturedMinor: claim.payment.amountMinor },
    asked: {},
    answered: {},
  } as const
  const { writes } = recordCapture({ payment: claim.payment }, captured, claim.fees)
  const run = {
    phase: claim.recoveryPoint,
    reached: 'captured',
    outcome: captured,
    startedAt: new Date(),
  }
  await advanceIfOwner(engine.store.sql, claim, 'captured', LEASE_MS, { tries: [run], writes })
}
