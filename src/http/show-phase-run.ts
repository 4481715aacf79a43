// A line of the timeline as the API shows it.
import type { PhaseRunRecord } from '../db/operations/phase-runs.ts'

/** One try of a phase: `recovery_point` is the one it reached, null when it settled nothing. */
export function presentPhaseRun(run: PhaseRunRecord): Record<string, unknown> {
  return {
    object: 'phase_run',
    operation: run.operation,
    phase: run.phase,
    recovery_point: run.reached,
    attempt: run.attempt,
    lease_epoch: run.leaseEpoch,
    provider: run.outcome && { outcome: run.outcome, asked: run.asked, answered: run.answered },
    started_at: run.startedAt.toISOString(),
    recorded_at: run.recordedAt.toISOString(),
  }
}
