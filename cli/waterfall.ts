// Draws the life of an operation as lines of text: attempts, provider calls and recovery points.
import type { OperationWithTimeline, PhaseRun } from './command.ts'
import { between, formatAmount, formatTime } from './format.ts'
import { whatNext } from './next.ts'

export function waterfall(operation: OperationWithTimeline): string[] {
  const { resolution, last_error: error } = operation
  return [
    `${operation.id}  ${operation.operation}  ${operation.status}`,
    `  tenant ${operation.tenant}`,
    ...present('payment', operation.payment),
    ...present('refund', operation.refund),
    ...present('idempotency key', operation.idempotency_key),
    '',
    `  ${formatTime(operation.created_at)}  accepted`,
    ...operation.timeline.flatMap((run) => attemptLines(run, operation.created_at)),
    '',
    `  recovery point ${operation.recovery_point}, attempts ${operation.attempts}, lease epoch ${operation.lease_epoch}`,
    ...present('last error:', error),
    ...(resolution === null ? [] : claimLines(resolution)),
    '',
    `  What happens next: ${whatNext(operation)}`,
  ]
}

function present(name: string, value: string | null): string[] {
  return value === null ? [] : [`  ${name} ${value}`]
}

function attemptLines(run: PhaseRun, acceptedAt: string): string[] {
  const { started_at: started, recorded_at: recorded, recovery_point: reached } = run
  // The entry of the acceptance, which has its own line.
  if (run.phase === null) return []
  return [
    `  ${formatTime(started)}  +${between(acceptedAt, started)}  ${run.phase}: attempt ${run.attempt}, lease epoch ${run.lease_epoch}, took ${between(started, recorded)}`,
    ...callLines(run.provider),
    `      ${reached === null ? 'no recovery point: no outcome was recorded' : `recovery point ${reached}`}`,
  ]
}

function callLines(provider: PhaseRun['provider']): string[] {
  if (provider === null) return []
  const { kind, amount, currency, outcome, asked, answered } = provider
  const sum = amount === null || currency === null ? '' : ` of ${formatAmount(amount, currency)}`
  return [
    `      provider ${kind ?? 'call'}${sum}: ${outcome}`,
    ...(asked === null ? [] : [`        asked    ${JSON.stringify(asked)}`]),
    ...(answered === null ? [] : [`        answered ${JSON.stringify(answered)}`]),
  ]
}

export function claimLines(claim: NonNullable<OperationWithTimeline['resolution']>): string[] {
  const by = claim.proposed_by === null ? '' : `${claim.proposed_by} and `
  const acted = claim.taken === false ? ', not acted on' : ''
  return [
    `  claim ${claim.claim} of ${by}${claim.claimed_by} at ${formatTime(claim.claimed_at)}: ${JSON.stringify(claim.claimed)}`,
    claim.verdict === null
      ? '  verdict: none yet; a worker has to look at the provider'
      : `  verdict: ${claim.verdict}${acted}${claim.shown === null ? '' : ` (${claim.shown})`}`,
  ]
}
