// The JSON of an operation for operators: its schemas, and what renders it.
import { z } from 'zod'
import { findOperationOverview, type OperationOverview } from './operations-search.ts'
import { isInternalKey } from '../../domain/idempotency/idempotency-key.ts'
import { resumeEffectOf, resumptionOf, verdicts } from '../../domain/operations/doubt-sentences.ts'
import { findingKinds } from '../../domain/operations/finding.ts'
import { operationStatuses } from '../../domain/operations/operation.ts'
import { parseId } from '../../domain/resource-id.ts'
import { keyWindowSeconds } from '../../provider/capabilities.ts'
import {
  anyMembers,
  idField,
  shownCount,
  shownFlag,
  shownText,
  timeField,
  render,
  type Json,
} from '../contracts/fields.ts'
import type { ServiceParts } from '../endpoint.ts'
import { phaseRunSchema } from '../resources/payments.ts'

const resumptions = ['look_up', 'repeat_call', 'run', 'park', 'reopen', 'nothing'] as const

const operationShape = z.object({
  id: idField('op', 'The id of the operation.'),
  object: z.literal('operation'),
  tenant: idField('tnt', 'The tenant that the operation belongs to.'),
  idempotency_key: shownText(
    "The client's idempotency key. Null when no client began the operation.",
  ).nullable(),
  operation: shownText('The kind of operation.'),
  status: z.enum(operationStatuses).meta({ description: 'The status of the operation.' }),
  recovery_point: shownText('The last step that was recorded; work resumes after it.'),
  resume_would: z.enum(resumptions).meta({
    description:
      'What resuming the operation would do now. `look_up`: look up its unknown outcome at the provider. `repeat_call`: repeat the provider call with the same provider key, which the provider still remembers. `run`: run the current step, which cannot have run before. `park`: mark it `unknown` and look it up, because its call may have run and the provider may have forgotten the key. `reopen`: run its current step as for a retry of its client. `nothing`: it is completed, or a worker is working on it.',
  }),
  resume_effect: shownText('What resuming the operation would do now, in words for a person.'),
  attempts: shownCount('How many times work on the operation has started.'),
  lease_epoch: shownCount('The number of the current lease; each new lease increments it.'),
  lease_expires_at: timeField(
    'When the lease of the current worker expires. After that, the worker counts as lost.',
  ).nullable(),
  in_doubt: shownFlag(
    'Whether a provider call of the current step may have run without a known result.',
  ),
  phase_age_seconds: z.number().nullable().meta({
    description:
      'The time since the provider call of the current step may have been made first. Null when it cannot have been made.',
  }),
  last_error: shownText('The error of the last attempt.').nullable(),
  unknown_at: timeField('When the outcome became unknown.').nullable(),
  checked_at: timeField('When the outcome was last looked up at the provider.').nullable(),
  next_check_at: timeField('When the outcome is looked up next.').nullable(),
  evidence: anyMembers.nullable().meta({
    description: 'What an operator claims about the outcome, until a lookup has judged it.',
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

const sentence = (when: string) => shownText(`What follows ${when}.`)

const consequences = z
  .object({
    refused: shownText('Why the claim is refused now. Null when it is not.').nullable(),
    warning: shownText(
      'What is wrong afterwards if the claim is. Null when the lookup decides.',
    ).nullable(),
    found: sentence('if the lookup finds the call'),
    absent: sentence('if the lookup does not find it'),
    unclear: sentence('if the lookup is answered and shows neither'),
    unanswered: sentence('if no lookup is answered'),
  })
  .meta({
    id: 'ClaimConsequences',
    description: 'What follows from a claim about an unknown outcome, in words for a person.',
  })

const proposal = z
  .object({
    proposed_by: shownText('The operator who proposed it.'),
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
      'The proposal that waits for a second operator. A confirmed one waits again when the lookup could not be made.',
  })

export const operationWithProposalSchema = operationShape
  .extend({ proposal })
  .meta({ id: 'OperationWithProposal' })

export const resolutionSchema = z
  .object({
    claim: idField('act', 'The entry of the audit trail with the claim.'),
    claimed: anyMembers.meta({
      description: 'What the operator claimed: the body of the request.',
    }),
    claimed_by: shownText('The operator who claimed it.'),
    proposed_by: shownText('The operator who proposed it, when two were needed.').nullable(),
    claimed_at: timeField('When it was claimed.'),
    verdict: z.enum(verdicts).nullable().meta({
      description:
        'What the lookup at the provider says about the claim. `verified`: the provider shows the same. `contradicted`: it answered, and does not show the same. `unverifiable`: it did not answer. Null until a worker has looked.',
    }),
    taken: shownFlag('Whether the claim was acted on.').nullable(),
    shown: shownText('What the lookup found, or why it was not answered.').nullable(),
    effect: shownText(
      'What followed, in words for a person. Null until a worker has looked.',
    ).nullable(),
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
          unverified: shownFlag('Whether it is acted on even if no lookup is answered.'),
          needs_second_operator: shownFlag('Whether another operator must confirm it.'),
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
    proposed_by: shownText('The operator who made the proposal.'),
    proposed: anyMembers.meta({ description: 'The proposed resolution.' }),
    needed: shownText('What is needed to apply the proposal.'),
    consequences,
  })
  .meta({
    id: 'ResolutionProposal',
    description: 'A proposed resolution. It counts when a second operator sends the same body.',
  })

const uuid = z.uuid()

export const operation = {
  prefix: 'op',
  schema: operationSchema,
  idInPath: 'The id of the operation, or its UUID.',
  find: findOperationOverview,
  // The metadata of the provider's objects and traces contain the UUID.
  parse: (text: string) => uuid.safeParse(text).data?.toLowerCase() ?? parseId('op', text),
  present: presentOperation,
} as const

export function presentOperation(found: OperationOverview, parts: ServiceParts): Json {
  const { key, status, recoveryPoint, phaseAgeMs } = found
  const phases = phasesOf(parts, found)
  // Assumes a provider call for an operation that this version does not know.
  const callsProvider = phases === undefined || phases[recoveryPoint]?.call !== undefined
  const resumption = resumptionOf({ ...found, callsProvider }, keyWindowMs(parts, found))
  // A failed operation keeps the time of a call that is not proved to have done nothing.
  const inDoubt = found.inDoubt || (status === 'failed_retryable' && phaseAgeMs !== null)
  const isInWindow = isInKeyWindow(parts, found)
  return render(operationShape, {
    ...found,
    idempotencyKey: isInternalKey(key) ? null : key,
    resumeWould: resumption,
    resumeEffect: resumeEffectOf({ resumption, status, inDoubt, isInKeyWindow: isInWindow }),
    inDoubt,
    phaseAgeSeconds: phaseAgeMs === null ? null : phaseAgeMs / 1_000,
  })
}

/** Whether the provider still remembers the key of the call, so that a repetition is harmless. */
export function isInKeyWindow(parts: ServiceParts, found: OperationOverview): boolean {
  return found.phaseAgeMs !== null && found.phaseAgeMs < keyWindowMs(parts, found)
}

const keyWindowMs = ({ providers, settings }: ServiceParts, { provider }: OperationOverview) =>
  keyWindowSeconds(providers.capabilitiesOf(provider ?? ''), settings) * 1_000

const phasesOf = ({ operations }: ServiceParts, { operation: kind }: OperationOverview) =>
  operations.find(({ name }) => name === kind)?.phases

/** The provider call of the current step; undefined when it makes none, or is not known here. */
export const callOf = (parts: ServiceParts, found: OperationOverview): string | undefined =>
  phasesOf(parts, found)?.[found.recoveryPoint]?.call
