// Decides what resuming an operation would do now; operators see it before they resume one. The
// rule is the same for every operation: a charge that may have happened is never repeated to find
// out.
import type { OperationStatus } from './operation.ts'

/**
 * `look_up`: the outcome is unknown and is looked up at the provider; nothing is executed.
 * `repeat_call`: the provider call may have run; it is repeated with the same provider key, which
 * the provider still remembers. `run`: nothing of the current phase can have happened, so the phase
 * runs. `park`: the provider call may have run, and the provider may have forgotten the key; the
 * outcome becomes unknown and is looked up. `reopen`: it is proved that nothing happened; the
 * operation runs again, as on its client's retry. `nothing`: the operation is completed, or a
 * worker is working on it.
 */
export type Resumption = 'look_up' | 'repeat_call' | 'run' | 'park' | 'reopen' | 'nothing'

/** The properties of an operation that decide how it is resumed. */
export interface ResumableOperation {
  readonly status: OperationStatus
  /** The lease expired while the operation was in progress. */
  readonly leaseRanOut: boolean
  /** It is pending, but it has no job. */
  readonly jobless: boolean
  readonly inDoubt: boolean
  /** Whether the current phase makes a provider call at all. */
  readonly callsProvider: boolean
  /** How long ago the call can have been made; null when it cannot have been made. */
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
      // The owner may have called the provider before it crashed.
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
