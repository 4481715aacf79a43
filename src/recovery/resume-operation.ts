// Has somebody go on with an operation at once, because an operator asks for it. Nothing foreign is
// called here, and nothing is done that the machinery would not do by itself, later.
import type { Transaction } from '../db/connection/client.ts'
import { requeueIfJobless, resumeIfExpired } from '../db/operations/sweeper.ts'
import { requestCheckIfUnknown } from '../db/operations/unknown-outcomes.ts'
import type { OperationRef } from '../domain/operations/operation.ts'
import type { Engine } from '../engine/engine.ts'
import { reopenOperationIn } from '../engine/reopen-operation.ts'

/**
 * What was done: `check_asked`, its outcome is looked up now; `reopened`, it runs as at its client's
 * retry; `requeued`, it has a new job; `nothing`, it is done or somebody is at it.
 */
export type ResumeResult = 'check_asked' | 'reopened' | 'requeued' | 'nothing'

/**
 * However long ago the call was made: whoever takes the job repeats no call that the provider may have
 * forgotten, but hands it to the reconciler.
 */
const ANY_AGE = { keyWindowSeconds: 10 ** 9, localPhases: [], attempts: 10 ** 9 }

/** @throws StaleResourceError when its resource has been changed since, so that it is too late. */
export async function resumeOperation(
  tx: Transaction,
  parts: Pick<Engine, 'operations'>,
  ref: OperationRef,
): Promise<ResumeResult> {
  if (await requestCheckIfUnknown(tx, ref)) return 'check_asked'
  if (await reopenOperationIn(tx, parts, ref)) return 'reopened'
  const expired = await resumeIfExpired(tx, ANY_AGE, 1, ref)
  if (expired.length > 0) return 'requeued'
  const jobless = await requeueIfJobless(tx, ref)
  return jobless.length > 0 ? 'requeued' : 'nothing'
}
