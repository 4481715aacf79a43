// Waits for the verdict on what an operator claimed about an unknown outcome, and answers with it.
// The API makes no provider call: a worker looks, and writes the verdict to the audit trail.
import { setTimeout as pause } from 'node:timers/promises'
import type { Request } from 'express'
import { findLastResolution, type ClaimedResolution } from '../../db/operators/admin-actions.ts'
import {
  findOperationOverview,
  type OperationOverview,
} from '../../db/operators/lists/operation-overviews.ts'
import type { OperationRef } from '../../domain/operations/operation.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { withinStoreTimeout, type ApiParts } from '../endpoint.ts'
import { jsonType, problemAnswer, type Answer } from '../responses/answer.ts'
import { presentOperation, showOperationId } from './operations-show.ts'

/** Short against a look-up, and only few operators wait at a time. */
const POLL_MS = 200

/**
 * Waits up to WAIT_MAX_SECONDS. A claim that is acted on is a 200, one that is not is a problem, and
 * one without a verdict is a 202.
 *
 * @param claim the public id of the entry of the audit trail.
 * @throws ProblemError operation-not-unknown when the service found the outcome without the claim.
 */
export async function answerVerdict(
  parts: ApiParts,
  request: Request,
  ref: OperationRef,
  claim: string,
): Promise<Answer> {
  const { operation, resolution } = await waitForVerdict(parts, request, ref, claim)
  const { verdict = null } = resolution ?? {}
  if (verdict === null && operation.status !== 'unknown') {
    throw new ProblemError('operation-not-unknown')
  }
  if (verdict?.taken === false) {
    const type =
      verdict.verdict === 'unverifiable' ? 'resolution-unverifiable' : 'resolution-contradicted'
    const detail = `The look-up at the provider: ${verdict.shown}. ${verdict.effect}`
    // Not thrown: a thrown problem would be recorded as a refusal, beside the verdict.
    return problemAnswer(new ProblemError(type, { detail }), parts.settings.IDEMPOTENCY_FLAVOR)
  }
  const shown = { ...presentOperation(parts, operation), resolution: presentResolution(resolution) }
  return { status: verdict === null ? 202 : 200, headers: jsonType, body: JSON.stringify(shown) }
}

interface Seen {
  readonly operation: OperationOverview
  /** Undefined when another operator has claimed something since. */
  readonly resolution: ClaimedResolution | undefined
}

async function waitForVerdict(
  parts: ApiParts,
  request: Request,
  ref: OperationRef,
  claim: string,
): Promise<Seen> {
  const disconnect = new AbortController()
  request.res?.once('close', () => disconnect.abort())
  const { stopping } = parts
  const signals = stopping === undefined ? [disconnect.signal] : [disconnect.signal, stopping]
  const signal = AbortSignal.any(signals)
  const endsAtMs = performance.now() + parts.settings.WAIT_MAX_SECONDS * 1_000
  for (;;) {
    const seen = await withinStoreTimeout(parts, see(parts, ref, claim))
    if (isDecided(seen) || signal.aborted || performance.now() >= endsAtMs) return seen
    await pause(POLL_MS, undefined, { signal }).catch(() => {})
  }
}

/**
 * The verdict is committed together with what it changes. So the operation is read before it, which shows
 * an operation that ended without one, and again after it.
 */
async function see({ store }: ApiParts, ref: OperationRef, claim: string): Promise<Seen> {
  const read = async () => {
    const operation = await findOperationOverview(store.sql, ref.id)
    if (operation === undefined) throw new ProblemError('resource-not-found')
    return operation
  }
  const operation = await read()
  const last = await findLastResolution(store.sql, showOperationId(ref.id))
  const resolution = last?.claim === claim ? last : undefined
  const hasVerdict = resolution !== undefined && resolution.verdict !== null
  return { operation: hasVerdict ? await read() : operation, resolution }
}

/** An operation whose claim is verified may still be on its way to the response. */
function isDecided({ operation: { status }, resolution }: Seen): boolean {
  if (status === 'pending' || status === 'processing') return false
  return resolution?.verdict !== null || status !== 'unknown'
}

/** Renders what an operator claimed, and the verdict. */
export function presentResolution(
  resolution: ClaimedResolution | undefined,
): Record<string, unknown> | null {
  if (resolution === undefined) return null
  const { claim, claimed, claimedBy, proposedBy, claimedAt, verdict } = resolution
  return {
    claim,
    claimed,
    claimed_by: claimedBy,
    proposed_by: proposedBy,
    claimed_at: claimedAt,
    verdict: verdict?.verdict ?? null,
    taken: verdict?.taken ?? null,
    shown: verdict?.shown ?? null,
    effect: verdict?.effect ?? null,
  }
}
