// What resuming an operation would do now. Operators are shown it before they ask for it, and it is the
// same rule for every operation: what may have been charged is never charged again to find out.
import type { OperationStatus } from './operation.ts'

/**
 * `look_up`: its outcome is unknown, and is looked up at the provider now; nothing is executed.
 * `repeat_call`: its call may have run, and is made again with the same provider key, which the
 * provider still remembers. `run`: nothing of the current step can have happened, so that it runs.
 * `park`: its call may have run, and the provider may have forgotten the key: it becomes unknown, and
 * is looked up. `reopen`: proved that nothing happened, it runs as it would at its client's retry.
 * `nothing`: it is done, or somebody is at it.
 */
export type Resumption = 'look_up' | 'repeat_call' | 'run' | 'park' | 'reopen' | 'nothing'

/** What decides about it. */
export interface ResumableOperation {
  readonly status: OperationStatus
  /** Its owner has let the lease run out. */
  readonly leaseRanOut: boolean
  /** It waits for a job that is not there. */
  readonly jobless: boolean
  readonly inDoubt: boolean
  /** Whether the current phase makes a foreign call at all. */
  readonly callsProvider: boolean
  /** Since when that call can have been made; null when it cannot have been. */
  readonly phaseAgeMs: number | null
}

export function resumptionOf(operation: ResumableOperation, keyWindowMs: number): Resumption {
  switch (operation.status) {
    case 'completed':
      return 'nothing'
    case 'unknown':
      return 'look_up'
    case 'failed_retryable':
      return 'reopen'
    case 'pending':
      return operation.jobless ? rerun(operation, operation.inDoubt, keyWindowMs) : 'nothing'
    case 'processing':
      // Whoever went silent may have called.
      return operation.leaseRanOut ? rerun(operation, true, keyWindowMs) : 'nothing'
  }
}

function rerun(
  { callsProvider, phaseAgeMs }: ResumableOperation,
  inDoubt: boolean,
  keyWindowMs: number,
): Resumption {
  if (!callsProvider || !inDoubt) return 'run'
  return (phaseAgeMs ?? 0) < keyWindowMs ? 'repeat_call' : 'park'
}
