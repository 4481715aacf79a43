// How the engine's work is named in traces: a run, its phases, and the calls of each.
import type { Claim } from '../db/operations/leases.ts'
import type { OperationRef } from '../domain/operations/operation.ts'
import type { SpanDescription } from '../tracing/spans.ts'

type Named = Pick<Claim, 'id' | 'operation' | 'recoveryPoint'>

/** What a worker does with an operation from when it takes it until it lets it go. */
export function runSpan({ id }: OperationRef): SpanDescription {
  return { name: 'run', kind: 'consumer', attributes: { 'atomic.operation.id': id } }
}

export function phaseSpan(claim: Named): SpanDescription {
  return { name: `phase ${claim.recoveryPoint}`, attributes: attributesOf(claim) }
}

/** One try of a phase's foreign call. */
export function callSpan(claim: Named): SpanDescription {
  return { name: `call ${claim.recoveryPoint}`, kind: 'client', attributes: attributesOf(claim) }
}

/** What is done about an operation whose outcome nobody knows: a look, and a run if it has told. */
export function resolveSpan(claim: Named): SpanDescription {
  return { name: 'resolve', kind: 'consumer', attributes: attributesOf(claim) }
}

/** The look at the provider for what became of a call. */
export function checkSpan(claim: Named): SpanDescription {
  return { name: `check ${claim.recoveryPoint}`, kind: 'client', attributes: attributesOf(claim) }
}

function attributesOf({ id, operation, recoveryPoint }: Named): SpanDescription['attributes'] {
  return {
    'atomic.operation.id': id,
    'atomic.operation.name': operation,
    'atomic.phase': recoveryPoint,
  }
}
