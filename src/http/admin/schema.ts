// Describes the JSON of the resources of operators for openapi.yaml: operations, dead letters,
// reconciliations, findings and the audit trail.
import { z } from 'zod'
import { deadLetterQueues } from '../../db/queue/dead-letters.ts'
import { findingKinds, findingStatuses, runStatuses } from '../../domain/operations/finding.ts'
import { operationStatuses } from '../../domain/operations/operation.ts'
import { verdicts } from '../../domain/operations/verdict.ts'
import { anyMembers, idField, listOf, timeField } from '../contracts/fields.ts'
import { phaseRunSchema } from '../payments/schema.ts'

const resumptions = ['look_up', 'repeat_call', 'run', 'park', 'reopen', 'nothing'] as const

const operationShape = z.object({
  id: idField('op', 'The id of the operation.'),
  object: z.literal('operation'),
  tenant: idField('tnt', 'The tenant that the operation belongs to.'),
  idempotency_key: z.string().nullable().meta({
    description: "The client's idempotency key. Null when no client began the operation.",
  }),
  operation: z
    .string()
    .meta({ description: 'The kind of operation.', examples: ['payment.create'] }),
  status: z.enum(operationStatuses).meta({ description: 'The status of the operation.' }),
  recovery_point: z
    .string()
    .meta({ description: 'The last step that was recorded; work resumes after it.' }),
  resume_would: z.enum(resumptions).meta({
    description:
      'What resuming the operation would do now. `look_up`: look up its unknown outcome at the provider. `repeat_call`: repeat the provider call with the same provider key, which the provider still remembers. `run`: run the current step, which cannot have run before. `park`: mark it `unknown` and look it up, because its call may have run and the provider may have forgotten the key. `reopen`: run it as for a retry of its client. `nothing`: it is completed, or a worker is working on it.',
  }),
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
        'What the look-up at the provider says about the claim. `verified`: the provider shows the same. `contradicted`: it shows something else. `unverifiable`: it did not answer. Null until a worker has looked.',
    }),
    taken: z.boolean().nullable().meta({ description: 'Whether the claim was acted on.' }),
    shown: z.string().nullable().meta({ description: 'What the provider showed.' }),
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

const reconciliationShape = z.object({
  id: idField('rec', 'The id of the reconciliation.'),
  object: z.literal('reconciliation'),
  provider: z.string().meta({ description: 'The name of the provider.' }),
  from: timeField('The beginning of the period, inclusive.'),
  to: timeField('The end of the period, exclusive.'),
  status: z.enum(runStatuses).meta({ description: 'The status of the reconciliation.' }),
  requested_by: z.string().meta({ description: 'Who requested the reconciliation.' }),
  counts: z.record(z.string(), z.number()).meta({
    description:
      'How many objects were compared, found to differ and repaired. `fees`: how many fees of the provider were posted. `account_movements`: how many movements belong to no payment, such as payouts.',
  }),
  last_error: z.string().nullable().meta({ description: 'The error of the last attempt.' }),
  created_at: timeField('When the reconciliation was requested.'),
  finished_at: timeField('When the reconciliation ended.').nullable(),
})

export const reconciliationSchema = reconciliationShape.meta({ id: 'Reconciliation' })

export const findingSchema = z
  .object({
    id: idField('fnd', 'The id of the finding.'),
    object: z.literal('finding'),
    kind: z.enum(findingKinds).meta({
      description:
        "The kind of finding. `outcome_unknown`: the service could not find out whether an operation happened. `operation_abandoned`: an operation stopped before it was completed, and its client did not retry. `missing_here`: the provider has an object that our records do not have. `missing_there`: our records have an object that the provider does not have. `amount_differs`, `currency_differs` and `status_differs`: our record and the provider's object differ. `ledger_differs`: the provider moved another amount than the ledger states. `charged_twice`, `held_twice` and `refunded_twice`: two objects of the provider belong to the same operation, and the second one took, holds or returned money, or may still do so. `unknown_movement`: money moved on the provider's balance, and the service cannot say why.",
    }),
    status: z.enum(findingStatuses).meta({ description: 'The status of the finding.' }),
    provider: z.string().meta({ description: 'The name of the provider.' }),
    about: z
      .string()
      .meta({ description: "The id of the object concerned, either the provider's or ours." }),
    reconciliation: idField('rec', 'The reconciliation that opened the finding.').nullable(),
    tenant: idField('tnt', 'The tenant concerned.').nullable(),
    payment: idField('pay', 'The payment concerned.').nullable(),
    refund: idField('re', 'The refund concerned.').nullable(),
    operation: idField('op', 'The operation concerned.').nullable(),
    ours: anyMembers.nullable().meta({ description: 'What our records state.' }),
    theirs: anyMembers.nullable().meta({ description: 'What the provider states.' }),
    opened_at: timeField('When the finding was opened.'),
    resolved_at: timeField('When the finding was resolved.').nullable(),
    resolved_by: z.string().nullable().meta({ description: 'Who resolved the finding.' }),
    note: z.string().nullable().meta({ description: 'What was done about the finding.' }),
  })
  .meta({
    id: 'Finding',
    description: 'A problem that the service could not repair by itself and that needs a person.',
  })

export const findingListSchema = listOf('FindingList', findingSchema)

export const reconciliationWithFindingsSchema = reconciliationShape
  .extend({
    findings: findingListSchema,
  })
  .meta({ id: 'ReconciliationWithFindings' })

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
      examples: ['operation.resume'],
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
