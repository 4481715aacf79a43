// The JSON of an operation for operators: its schemas, and what renders it.
import { z } from 'zod'
import { findingKinds } from '../../domain/operations/finding.ts'
import { operationStatuses } from '../../domain/operations/operation.ts'
import { verdicts } from '../../domain/operations/verdict.ts'
import { anyMembers, idField, timeField } from '../contracts/fields.ts'
import { phaseRunSchema } from '../resources/payments.ts'
import type { Request } from 'express'
import type { Sql, Transaction } from '../../db/connection/client.ts'
import {
  findOperationOverview,
  type OperationOverview,
} from '../../db/operators/lists/operation-overviews.ts'
import { isInternalKey } from '../../domain/idempotency/idempotency-key.ts'
import { showPaymentId } from '../../domain/payments/payment.ts'
import { showRefundId } from '../../domain/payments/refund.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { parseId, showId } from '../../domain/resource-id.ts'
import {
  resumeEffectOf,
  resumptionOf,
  type Resumption,
} from '../../domain/operations/doubt-sentences.ts'
import { keyWindowSeconds } from '../../provider/capabilities.ts'
import { jsonType, type Answer } from '../responses/answer.ts'
import type { ApiParts } from '../endpoint.ts'

const resumptions = ['look_up', 'repeat_call', 'run', 'park', 'reopen', 'nothing'] as const

const operationShape = z.object({
  id: idField('op', 'The id of the operation.'),
  object: z.literal('operation'),
  tenant: idField('tnt', 'The tenant that the operation belongs to.'),
  idempotency_key: z.string().nullable().meta({
    description: "The client's idempotency key. Null when no client began the operation.",
  }),
  operation: z.string().meta({ description: 'The kind of operation.' }),
  status: z.enum(operationStatuses).meta({ description: 'The status of the operation.' }),
  recovery_point: z
    .string()
    .meta({ description: 'The last step that was recorded; work resumes after it.' }),
  resume_would: z.enum(resumptions).meta({
    description:
      'What resuming the operation would do now. `look_up`: look up its unknown outcome at the provider. `repeat_call`: repeat the provider call with the same provider key, which the provider still remembers. `run`: run the current step, which cannot have run before. `park`: mark it `unknown` and look it up, because its call may have run and the provider may have forgotten the key. `reopen`: run its current step as for a retry of its client. `nothing`: it is completed, or a worker is working on it.',
  }),
  resume_effect: z
    .string()
    .meta({ description: 'What resuming the operation would do now, in words for a person.' }),
  attempts: z.int().meta({ description: 'How many times work on the operation has started.' }),
  lease_epoch: z
    .int()
    .meta({ description: 'The number of the current lease; each new lease increments it.' }),
  lease_expires_at: timeField(
    'When the lease of the current worker expires. After that, the worker counts as lost.',
  ).nullable(),
  in_doubt: z.boolean().meta({
    description: 'Whether a provider call of the current step may have run without a known result.',
  }),
  phase_age_seconds: z.number().nullable().meta({
    description:
      'The time since the provider call of the current step may have been made first. Null when it cannot have been made.',
  }),
  last_error: z.string().nullable().meta({ description: 'The error of the last attempt.' }),
  unknown_at: timeField('When the outcome became unknown.').nullable(),
  checked_at: timeField('When the outcome was last looked up at the provider.').nullable(),
  next_check_at: timeField('When the outcome is looked up next.').nullable(),
  evidence: anyMembers.nullable().meta({
    description: 'What an operator claims about the outcome, until a look-up has judged it.',
  }),
  finding: z
    .object({
      id: idField('fnd', 'The id of the finding.'),
      kind: z.enum(findingKinds).meta({ description: 'The kind of finding.' }),
    })
    .nullable()
    .meta({ description: 'The open finding about the operation.' }),
  payment: idField('pay', 'The payment that the operation creates or changes.').nullable(),
  refund: idField('re', 'The refund that the operation creates.').nullable(),
  created_at: timeField('When the operation was accepted.'),
})

export const operationSchema = operationShape.meta({ id: 'Operation' })

const sentence = (when: string) => z.string().meta({ description: `What follows ${when}.` })

const consequences = z
  .object({
    refused: z.string().nullable().meta({
      description: 'Why the claim is refused now. Null when it is not.',
    }),
    warning: z.string().nullable().meta({
      description: 'What is wrong afterwards if the claim is. Null when the look-up decides.',
    }),
    found: sentence('if the look-up finds the call'),
    absent: sentence('if the look-up does not find it'),
    unclear: sentence('if the look-up is answered and shows neither'),
    unanswered: sentence('if no look-up is answered'),
  })
  .meta({
    id: 'ClaimConsequences',
    description: 'What follows from a claim about an unknown outcome, in words for a person.',
  })

const proposal = z
  .object({
    proposed_by: z.string().meta({ description: 'The operator who proposed it.' }),
    proposed_at: timeField('When it was proposed.'),
    expires_at: timeField('Until when another operator can confirm it.'),
    proposed: anyMembers.meta({
      description: 'The proposed resolution: the body that the other operator must send.',
    }),
    consequences,
  })
  .nullable()
  .meta({
    description:
      'The proposal that waits for a second operator. A confirmed one waits again when the look-up could not be made.',
  })

export const operationWithProposalSchema = operationShape
  .extend({ proposal })
  .meta({ id: 'OperationWithProposal' })

const resolutionSchema = z
  .object({
    claim: idField('act', 'The entry of the audit trail with the claim.'),
    claimed: anyMembers.meta({
      description: 'What the operator claimed: the body of the request.',
    }),
    claimed_by: z.string().meta({ description: 'The operator who claimed it.' }),
    proposed_by: z
      .string()
      .nullable()
      .meta({ description: 'The operator who proposed it, when two were needed.' }),
    claimed_at: timeField('When it was claimed.'),
    verdict: z.enum(verdicts).nullable().meta({
      description:
        'What the look-up at the provider says about the claim. `verified`: the provider shows the same. `contradicted`: it answered, and does not show the same. `unverifiable`: it did not answer. Null until a worker has looked.',
    }),
    taken: z.boolean().nullable().meta({ description: 'Whether the claim was acted on.' }),
    shown: z.string().nullable().meta({
      description: 'What the look-up found, or why it was not answered.',
    }),
    effect: z.string().nullable().meta({
      description: 'What followed, in words for a person. Null until a worker has looked.',
    }),
  })
  .meta({ id: 'Resolution', description: 'What an operator claimed about an unknown outcome.' })

const lastResolution = resolutionSchema
  .nullable()
  .meta({ description: 'The last claim of an operator about the outcome, and its verdict.' })

export const operationWithResolutionSchema = operationShape
  .extend({ resolution: lastResolution })
  .meta({ id: 'OperationWithResolution' })

export const operationWithTimelineSchema = operationShape
  .extend({
    proposal,
    claims: z
      .array(
        z.object({
          outcome: z.enum(['happened', 'did_not_happen']),
          unverified: z.boolean().meta({
            description: 'Whether it is acted on even if no look-up is answered.',
          }),
          needs_second_operator: z.boolean().meta({
            description: 'Whether another operator must confirm it.',
          }),
          consequences,
        }),
      )
      .nullable()
      .meta({
        description:
          'What an operator can claim about the outcome. Null when the outcome is not unknown.',
      }),
    resolution: lastResolution,
    timeline: z
      .array(phaseRunSchema)
      .meta({ description: 'Every attempt of every step of the operation, oldest first.' }),
  })
  .meta({ id: 'OperationWithTimeline' })

export const resolutionProposalSchema = z
  .object({
    object: z.literal('resolution_proposal'),
    operation: idField('op', 'The operation whose outcome is unknown.'),
    proposed_by: z.string().meta({ description: 'The operator who made the proposal.' }),
    proposed: anyMembers.meta({ description: 'The proposed resolution.' }),
    needed: z.string().meta({ description: 'What is needed to apply the proposal.' }),
    consequences,
  })
  .meta({
    id: 'ResolutionProposal',
    description: 'A proposed resolution. It counts when a second operator sends the same body.',
  })

export const showOperationId = (id: string): string => showId('op', id)

const uuid = z.uuid()

/** Also accepts the UUID, which the metadata of the provider's objects and traces contain. */
export const parseOperationId = (text: string): string | undefined =>
  uuid.safeParse(text).data?.toLowerCase() ?? parseId('op', text)

/** Returns the id in the path, for the audit trail; null when it is not an id of an operation. */
export function namedOperation({ params }: Request): string | null {
  const id = parseOperationId(String(params['id']))
  return id === undefined ? null : showOperationId(id)
}

/** @throws ProblemError resource-not-found. */
export async function findRequestedOperation(
  sql: Sql | Transaction,
  { params }: Request,
): Promise<OperationOverview> {
  const id = parseOperationId(String(params['id']))
  const operation = id === undefined ? undefined : await findOperationOverview(sql, id)
  if (operation === undefined) throw new ProblemError('resource-not-found')
  return operation
}

/** Answers with an operation. */
export function showOperation(parts: ApiParts, operation: OperationOverview): Answer {
  return {
    status: 202,
    headers: jsonType,
    body: JSON.stringify(presentOperation(parts, operation)),
  }
}

export function presentOperation(
  parts: ApiParts,
  operation: OperationOverview,
): Record<string, unknown> {
  const { paymentId, refundId, finding, key } = operation
  const resumption = resumeWould(parts, operation)
  const inDoubt = isInDoubt(operation)
  const isInWindow = isInKeyWindow(parts, operation)
  return {
    id: showOperationId(operation.id),
    object: 'operation',
    tenant: showId('tnt', operation.tenantId),
    idempotency_key: isInternalKey(key) ? null : key,
    operation: operation.operation,
    status: operation.status,
    recovery_point: operation.recoveryPoint,
    resume_would: resumption,
    resume_effect: resumeEffectOf({
      resumption,
      status: operation.status,
      inDoubt,
      isInKeyWindow: isInWindow,
    }),
    attempts: operation.attempts,
    lease_epoch: operation.leaseEpoch,
    lease_expires_at: operation.leaseExpiresAt,
    in_doubt: inDoubt,
    phase_age_seconds: operation.phaseAgeMs === null ? null : operation.phaseAgeMs / 1_000,
    last_error: operation.lastError,
    unknown_at: operation.unknownAt,
    checked_at: operation.checkedAt,
    next_check_at: operation.nextCheckAt,
    evidence: operation.evidence,
    finding: finding && { id: showId('fnd', finding.id), kind: finding.kind },
    payment: paymentId && showPaymentId(paymentId),
    refund: refundId && showRefundId(refundId),
    created_at: operation.createdAt,
  }
}

/** A failed operation keeps the time of a call that is not proved to have done nothing. */
function isInDoubt({ inDoubt, status, phaseAgeMs }: OperationOverview): boolean {
  return inDoubt || (status === 'failed_retryable' && phaseAgeMs !== null)
}

/** Whether the provider still remembers the key of the call, so that a repetition is harmless. */
export function isInKeyWindow(
  parts: ApiParts,
  { phaseAgeMs, provider }: Pick<OperationOverview, 'phaseAgeMs' | 'provider'>,
): boolean {
  return phaseAgeMs !== null && phaseAgeMs < keyWindowMs(parts, provider)
}

function keyWindowMs({ capabilitiesOf, settings }: ApiParts, provider: string | null): number {
  return keyWindowSeconds(capabilitiesOf(provider ?? ''), settings) * 1_000
}

function resumeWould(parts: ApiParts, operation: OperationOverview): Resumption {
  const resumable = { ...operation, callsProvider: callsProvider(parts, operation) }
  return resumptionOf(resumable, keyWindowMs(parts, operation.provider))
}

/** Assumes a provider call for an operation or phase that this version does not know. */
function callsProvider(parts: ApiParts, operation: OperationOverview): boolean {
  const phases = phasesOf(parts, operation)
  return phases === undefined || phases[operation.recoveryPoint]?.call !== undefined
}

function phasesOf({ operations }: ApiParts, { operation }: OperationOverview) {
  return operations.find(({ name }) => name === operation)?.phases
}

/** The provider call of the current step; undefined when it makes none, or is not known here. */
export function callOf(parts: ApiParts, operation: OperationOverview): string | undefined {
  return phasesOf(parts, operation)?.[operation.recoveryPoint]?.call
}
