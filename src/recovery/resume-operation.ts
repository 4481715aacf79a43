// Resumes an operation at once, at the request of an operator. It makes no provider call, and does
// nothing that the service would not do later by itself.
import type { Transaction } from '../db/connection/client.ts'
import { requestCheckIfUnknown } from '../db/operations/requested-checks.ts'
import type { OperationRef } from '../domain/operations/operation.ts'
import type { Engine } from '../engine/engine.ts'
import { reopenOperationIn } from '../engine/reopen-operation.ts'
import { requeueIfJobless, requeueIfExpired } from './sweeper.ts'

/**
 * What was done. `check_asked`: the outcome is looked up now. `reopened`: the operation runs as on
 * its client's retry. `requeued`: it has a new job. `nothing`: it is completed, or a worker is
 * working on it.
 */
export type ResumeResult = 'check_asked' | 'reopened' | 'requeued' | 'nothing'

/** @throws StaleResourceError when its resource has changed since, so it is too late. */
export async function resumeOperation(
  tx: Transaction,
  parts: Pick<Engine, 'operations'>,
  ref: OperationRef,
): Promise<ResumeResult> {
  if (await requestCheckIfUnknown(tx, ref)) return 'check_asked'
  if (await reopenOperationIn(tx, parts, ref)) return 'reopened'
  // The worker that takes the job does not repeat a call that the provider may have forgotten, but
  // leaves it to the outcome resolver.
  const expired = await requeueIfExpired(tx, [ref])
  if (expired.length > 0) return 'requeued'
  const jobless = await requeueIfJobless(tx, ref)
  return jobless.length > 0 ? 'requeued' : 'nothing'
}
