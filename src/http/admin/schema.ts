// Describes the JSON of the resources of operators for openapi.yaml: operations, dead letters and the
// audit trail.
import { z } from 'zod'
import { deadLetterQueues } from '../../db/queue/dead-letters.ts'
import { findingKinds } from '../../domain/operations/finding.ts'
import { operationStatuses } from '../../domain/operations/operation.ts'
import { verdicts } from '../../domain/operations/verdict.ts'
import { anyMembers, idField, timeField } from '../contracts/fields.ts'
import { phaseRunSchema } from '../resources/payments.ts'

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

export const deadLetterSchema = z
  .object({
    id: z.uuid().meta({ description: 'The id of the job, as the queue dashboard shows it.' }),
    object: z.literal('dead_letter'),
    queue: z.enum(deadLetterQueues).meta({ description: 'The queue of dead letters.' }),
    source_queue: z
      .string()
      .nullable()
      .meta({ description: 'The queue in which the job used up its retries.' }),
    about: z
      .string()
      .nullable()
      .meta({ description: 'The id of the resource that the job works on.' }),
    job: anyMembers.meta({ description: 'The parameters of the job.' }),
    retries: z.int().nullable().meta({ description: 'How many times the job was retried.' }),
    last_error: z.unknown().meta({ description: 'The error of the last attempt.' }),
    died_at: timeField('When the job used up its retries.'),
  })
  .meta({ id: 'DeadLetter' })

export const redriveSchema = z
  .object({
    object: z.literal('redrive'),
    queue: z.enum(deadLetterQueues).meta({ description: 'The queue of dead letters.' }),
    redriven: z.int().meta({ description: 'The number of jobs that are retried.' }),
    needless: z.int().meta({
      description:
        'The number of dead letters that were removed because there was nothing left to do.',
    }),
    kept: z
      .array(
        z.object({
          id: z.string().meta({ description: 'The id of the dead letter.' }),
          reason: z.string().meta({ description: 'Why it was kept.' }),
        }),
      )
      .meta({ description: 'The dead letters that could not be redriven.' }),
  })
  .meta({ id: 'Redrive' })

export const adminActionSchema = z
  .object({
    id: idField('act', 'The id of the entry.'),
    object: z.literal('admin_action'),
    actor: z.string().meta({
      description:
        'The name of the operator, or `reconciler` for the verdict on what an operator claimed.',
    }),
    action: z.string().meta({
      description:
        'What the operator did. `operation.resolve` is a claim, and `operation.resolve.verdict` says whether a look-up verified it.',
    }),
    subject: z
      .string()
      .nullable()
      .meta({ description: 'The id of the resource that the action concerned.' }),
    details: anyMembers.meta({
      description: 'The result and the parameters. For a refusal, `refused` is the problem type.',
    }),
    happened_at: timeField('When the action happened.'),
  })
  .meta({ id: 'AdminAction', description: 'An entry of the audit trail of operators.' })
