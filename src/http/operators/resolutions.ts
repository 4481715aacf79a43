// POST /admin/operations/:id/resolve: an operator claims the outcome that no program can find, and a worker
// verifies the claim. It waits for the verdict: the API makes no provider call.
import { setTimeout as pause } from 'node:timers/promises'
import type { Request } from 'express'
import { makeActionId } from '../../db/operators/admin-actions.ts'
import { requestCheckIfUnknown } from '../../db/operations/requested-checks.ts'
import type { Evidence } from '../../db/schema/idempotency-keys.ts'
import type { OperationRef } from '../../domain/operations/operation.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { withinStoreTimeout, type ServiceParts } from '../endpoint.ts'
import { problemAnswer, showJson, type Answer } from '../responses/answer.ts'
import { presentOperation, callOf, isInKeyWindow, resolutionSchema } from './operation.ts'
import { consequencesOf, type Consequences } from '../../domain/operations/doubt-sentences.ts'
import { z } from 'zod'
import type { Transaction } from '../../db/connection/client.ts'
import { showId } from '../../domain/resource-id.ts'
import { textField } from '../requests/validate-body.ts'
import { declarationOf, providerCalls } from '../../provider/calls.ts'
import { render, type Json } from '../contracts/fields.ts'
import {
  findLastResolution,
  type Claim,
  type ClaimedResolution,
  findProposer,
  PROPOSAL,
  PROPOSAL_HOURS,
} from './claims.ts'
import type { CommandResult, Work } from './commands.ts'
import { findOperationOverview, type OperationOverview } from './operations-search.ts'

/** Short against a lookup, and only few operators wait at a time. */
const POLL_MS = 200

/**
 * Waits up to WAIT_MAX_SECONDS. A claim that is acted on is a 200, one that is not is a problem, and
 * one without a verdict is a 202.
 *
 * @param claim the public id of the entry of the audit trail.
 * @throws ProblemError operation-not-unknown when the service found the outcome without the claim.
 */
async function answerVerdict(
  parts: ServiceParts,
  request: Request,
  ref: OperationRef,
  claim: string,
): Promise<Answer> {
  const { operation, resolution } = await waitForVerdict(parts, request, ref, claim)
  const { verdict = null } = resolution ?? {}
  if (verdict === null && operation.status !== 'unknown') {
    throw new ProblemError('operation-not-unknown')
  }
  if (resolution?.taken === false) {
    const type = verdict === 'unverifiable' ? 'resolution-unverifiable' : 'resolution-contradicted'
    const detail = `The lookup at the provider: ${resolution.shown}. ${resolution.effect}`
    // Not thrown: a thrown problem would be recorded as a refusal, beside the verdict.
    return problemAnswer(new ProblemError(type, { detail }), parts.settings.IDEMPOTENCY_FLAVOR)
  }
  const shown = { ...presentOperation(operation, parts), resolution: presentResolution(resolution) }
  return showJson(shown, verdict === null ? 202 : 200)
}

interface Seen {
  readonly operation: OperationOverview
  /** Undefined when another operator has claimed something since. */
  readonly resolution: ClaimedResolution | undefined
}

async function waitForVerdict(
  parts: ServiceParts,
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
async function see({ store }: ServiceParts, ref: OperationRef, claim: string): Promise<Seen> {
  const read = async () => {
    const operation = await findOperationOverview(store.sql, ref.id)
    if (operation === undefined) throw new ProblemError('resource-not-found')
    return operation
  }
  const operation = await read()
  const last = await findLastResolution(store.sql, ref.id)
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
export const presentResolution = (resolution: ClaimedResolution | undefined): Json | null =>
  resolution === undefined ? null : render(resolutionSchema, resolution)

const CLAIMABLE: readonly Claim[] = [
  { outcome: 'happened', unverified: false },
  { outcome: 'did_not_happen', unverified: false },
  { outcome: 'did_not_happen', unverified: true },
]

/** Without dual control only a claim that no lookup verifies needs two operators. */
function needsTwo({ settings }: ServiceParts, { unverified = false }: Claim): boolean {
  return settings.ADMIN_DUAL_CONTROL || unverified
}

/** Whether the settings have another operator, besides viewers. */
function hasAnotherOperator({ settings }: ServiceParts, operator: string): boolean {
  const others = settings.ADMIN_API_KEY?.filter(({ name }) => name !== operator) ?? []
  return others.some(({ role }) => role === 'operator')
}

/** What the operator can claim; null when the outcome is not unknown. */
export function presentClaims(
  parts: ServiceParts,
  operation: OperationOverview,
  operator: string,
): readonly object[] | null {
  if (operation.status !== 'unknown') return null
  const hasAnother = hasAnotherOperator(parts, operator)
  return CLAIMABLE.map((claim) => ({
    ...claim,
    needs_second_operator: needsTwo(parts, claim),
    consequences: presentConsequences(parts, operation, claim, hasAnother),
  }))
}

/** What follows from a claim, or from a proposal when the second operator confirms it. */
export function presentConsequences(
  parts: ServiceParts,
  operation: OperationOverview,
  claim: Claim,
  hasAnother = true,
): Consequences {
  const { outcome, unverified = false } = claim
  return consequencesOf({
    outcome,
    unverified,
    // A step that moves no money is part of a payment.
    words: (declarationOf(callOf(parts, operation)) ?? providerCalls.authorize).words,
    isInKeyWindow: isInKeyWindow(parts, operation),
    needsTwo: needsTwo(parts, claim),
    hasAnother,
  })
}

export const resolveOperationBody = z.discriminatedUnion('outcome', [
  z.strictObject({
    outcome: z.literal('happened'),
    provider_id: z
      .string()
      .regex(/^(pi|re|pyr)_[A-Za-z0-9_]{1,200}$/, 'must be the id of a payment intent or a refund')
      .describe(
        "The provider's id of the payment intent or refund. A worker looks it up and completes the operation with it.",
      ),
    note: textField({ min: 1, max: 500 }).describe(
      'How you know that it happened. It is stored in the audit trail.',
    ),
  }),
  z.strictObject({
    outcome: z.literal('did_not_happen'),
    proof: textField({ min: 10, max: 500 }).describe(
      'What proves that it did not happen. It is stored in the audit trail.',
    ),
    unverified: z
      .boolean()
      .optional()
      .describe(
        'Whether to act on the claim even if the lookup at the provider fails. This needs the same request of a second operator, and is refused after the time for which the provider remembers its keys.',
      ),
  }),
])

type Resolution = z.output<typeof resolveOperationBody>

/** The work of the command. */
export async function resolveOperation({
  parts,
  tx,
  request,
  body,
  operator,
  found: operation,
}: Work<typeof resolveOperationBody, OperationOverview>): Promise<CommandResult> {
  // The lock keeps other operators and the outcome resolver from resolving it meanwhile.
  const unknownAt = await lockIfUnknown(tx, operation)
  if (unknownAt === undefined) throw new ProblemError('operation-not-unknown')
  refuseOtherKind(operation, body)
  const claimed: Claim = body
  if (claimed.unverified === true && !isInKeyWindow(parts, operation)) {
    throw new ProblemError('key-window-passed')
  }
  let proposer: string | undefined
  if (needsTwo(parts, body)) {
    proposer = await findProposer(tx, operation.id, body, unknownAt)
    if (proposer === undefined) return propose(parts, operation, body, operator)
    if (proposer === operator) throw new ProblemError('second-operator-needed')
  }
  const by = proposer === undefined ? operator : `${proposer} and ${operator}`
  const id = await makeActionId(tx)
  const claim = showId('act', id)
  // The outcome resolver looks it up at once, and judges the claim.
  await requestCheckIfUnknown(tx, operation, evidenceOf(operation, body, { by, claim }))
  return {
    answer: () => answerVerdict(parts, request, operation, claim),
    details: { result: 'claimed', claim, resolution: body, proposed_by: proposer ?? null },
    id,
  }
}

/** What an operator claims is evidence, not truth. */
function evidenceOf(
  operation: OperationOverview,
  resolution: Resolution,
  claimed: Pick<Evidence, 'by' | 'claim'>,
): Evidence {
  if (resolution.outcome === 'did_not_happen') {
    const { proof: note, unverified } = resolution
    return { ...claimed, proved_absent: true, ...(unverified === true && { unverified }), note }
  }
  const { provider_id: id, note } = resolution
  const named = concernsRefund(operation) ? { provider_refund_id: id } : { provider_payment_id: id }
  return { ...claimed, ...named, note }
}

/** Whether the operation creates a refund, so that its provider object is a refund. */
const concernsRefund = ({ refundId }: OperationOverview): boolean => refundId !== null

/** Locks an unknown operation until the transaction ends. Returns when it became unknown. */
export async function lockIfUnknown(
  tx: Transaction,
  { tenantId, id }: OperationRef,
): Promise<Date | undefined> {
  const [row] = await tx<{ unknown_at: string }[]>`
    select unknown_at from idempotency_keys
    where tenant_id = ${tenantId} and id = ${id} and status = 'unknown'
    for no key update
  `
  return row && new Date(row.unknown_at)
}

/**
 * A refund is resolved by the id of a refund, every other operation by the id of a payment intent.
 */
function refuseOtherKind(operation: OperationOverview, resolution: Resolution): void {
  if (resolution.outcome !== 'happened') return
  const namesPayment = resolution.provider_id.startsWith('pi_')
  if (namesPayment !== concernsRefund(operation)) return
  const detail = `Must be the id of a ${concernsRefund(operation) ? 'refund' : 'payment intent'}`
  throw new ProblemError('invalid-field', {
    detail: `/provider_id: ${detail}`,
    errors: [{ pointer: '/provider_id', detail }],
  })
}

/** @throws ProblemError second-operator-needed when there is no other operator. */
function propose(
  parts: ServiceParts,
  operation: OperationOverview,
  body: Resolution,
  operator: string,
): CommandResult {
  if (!hasAnotherOperator(parts, operator)) {
    const detail = 'ADMIN_API_KEY has only one operator, besides viewers.'
    throw new ProblemError('second-operator-needed', { detail })
  }
  const proposal = {
    object: 'resolution_proposal',
    operation: showId('op', operation.id),
    proposed_by: operator,
    proposed: body,
    needed: `Another operator must send the same body within ${PROPOSAL_HOURS} hours. Until then nothing changes.`,
    consequences: presentConsequences(parts, operation, body),
  }
  return {
    action: PROPOSAL,
    details: { result: 'proposed', proposed: body },
    answer: async () => showJson(proposal, 202),
  }
}
