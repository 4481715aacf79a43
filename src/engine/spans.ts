// Describes the engine's spans in traces: a run, its phases, and their provider calls.
import type { Claim } from '../db/operations/leases.ts'
import type { OperationRef } from '../domain/operations/operation.ts'
import { showId } from '../domain/resource-id.ts'
import type { SpanDescription } from '../tracing/spans.ts'

type Named = Pick<Claim, 'id' | 'operation' | 'recoveryPoint'>

/** The work of one worker on an operation, from the claim to the end of the run. */
export function runSpan({ id }: OperationRef): SpanDescription {
  const attributes = () => ({ 'atomic.operation.id': showId('op', id) })
  return { name: 'run', kind: 'consumer', attributes }
}

export function phaseSpan(claim: Named): SpanDescription {
  return { name: `phase ${claim.recoveryPoint}`, attributes: attributesOf(claim) }
}

/** One try of a phase's provider call. */
export function callSpan(claim: Named): SpanDescription {
  return { name: `call ${claim.recoveryPoint}`, kind: 'client', attributes: attributesOf(claim) }
}

/**
 * The resolution of an unknown outcome: a lookup, followed by a run if the lookup found the
 * outcome.
 */
export function resolveSpan(claim: Named): SpanDescription {
  return { name: 'resolve', kind: 'consumer', attributes: attributesOf(claim) }
}

/** The lookup of a provider call. */
export function checkSpan(claim: Named): SpanDescription {
  return { name: `check ${claim.recoveryPoint}`, kind: 'client', attributes: attributesOf(claim) }
}

function attributesOf({ id, operation, recoveryPoint }: Named): SpanDescription['attributes'] {
  return () => ({
    'atomic.operation.id': showId('op', id),
    'atomic.operation.name': operation,
    'atomic.phase': recoveryPoint,
  })
}
