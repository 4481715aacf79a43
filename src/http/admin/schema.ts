// What operators are shown, described for openapi.yaml: operations, dead letters, comparisons with the
// provider, findings and the audit trail.
import { z } from 'zod'
import { deadLetterQueues } from '../../db/queue/dead-letters.ts'
import { findingKinds, findingStatuses, runStatuses } from '../../domain/operations/finding.ts'
import { operationStatuses } from '../../domain/operations/operation.ts'
import { anyMembers, idField, listOf, timeField } from '../contracts/fields.ts'
import { phaseRunSchema } from '../payments/schema.ts'

const resumptions = ['look_up', 'repeat_call', 'run', 'park', 'reopen', 'nothing'] as const

const operationShape = z.object({
  id: idField('op', 'Names the operation.'),
  object: z.literal('operation'),
  tenant: idField('tnt', 'Whose operation it is.'),
  idempotency_key: z
    .string()
    .nullable()
    .meta({ description: "The client's key; null when no client began it." }),
  operation: z.string().meta({ examples: ['payment.create'] }),
  status: z.enum(operationStatuses),
  recovery_point: z.string(),
  resume_would: z.enum(resumptions).meta({ description: 'What a resume would do now.' }),
  attempts: z.int(),
  lease_epoch: z.int(),
  lease_expires_at: timeField('When its worker may be taken for lost.').nullable(),
  in_doubt: z.boolean().meta({ description: 'Whether a call of the provider may have run.' }),
  phase_age_seconds: z.number().nullable(),
  last_error: z.string().nullable(),
  unknown_at: timeField('Since when its outcome is unknown.').nullable(),
  checked_at: timeField('When it was last looked up at the provider.').nullable(),
  next_check_at: timeField('When it is looked up next.').nullable(),
  evidence: anyMembers.nullable().meta({ description: 'What the last look-up found.' }),
  finding: z
    .object({ id: idField('fnd', 'The finding.'), kind: z.enum(findingKinds) })
    .nullable()
    .meta({ description: 'The finding that is open about it.' }),
  payment: idField('pay', 'The payment it works on.').nullable(),
  refund: idField('re', 'The refund it makes.').nullable(),
  created_at: timeField('When it was accepted.'),
})

export const operationSchema = operationShape.meta({ id: 'Operation' })

export const operationWithTimelineSchema = operationShape
  .extend({ timeline: z.array(phaseRunSchema) })
  .meta({ id: 'OperationWithTimeline' })

export const resolutionProposalSchema = z
  .object({
    object: z.literal('resolution_proposal'),
    operation: idField('op', 'The operation whose outcome is unknown.'),
    proposed_by: z.string(),
    proposed: anyMembers,
    needed: z.string(),
  })
  .meta({
    id: 'ResolutionProposal',
    description: 'With dual control a second operator has to send the same.',
  })

export const deadLetterSchema = z
  .object({
    id: z.uuid().meta({ description: "The job's id, as the dashboard of the queues shows it." }),
    object: z.literal('dead_letter'),
    queue: z.enum(deadLetterQueues),
    source_queue: z.string().nullable(),
    about: z.string().nullable().meta({ description: 'The id of what the job is about.' }),
    job: anyMembers,
    retries: z.int().nullable(),
    last_error: z.unknown().meta({ description: 'What its last try left behind.' }),
    died_at: timeField('When it was out of retries.'),
  })
  .meta({ id: 'DeadLetter' })

export const redriveSchema = z
  .object({
    object: z.literal('redrive'),
    queue: z.enum(deadLetterQueues),
    redriven: z.int().meta({ description: 'How many are tried again.' }),
    needless: z.int().meta({ description: 'How many had nothing left to do.' }),
    kept: z.array(z.object({ id: z.string(), reason: z.string() })),
  })
  .meta({ id: 'Redrive' })

const reconciliationShape = z.object({
  id: idField('rec', 'Names the comparison.'),
  object: z.literal('reconciliation'),
  provider: z.string(),
  from: timeField('The beginning of the window, included.'),
  to: timeField('Its end, not included.'),
  status: z.enum(runStatuses),
  requested_by: z.string(),
  counts: z
    .record(z.string(), z.number())
    .meta({ description: 'How much was compared, found and repaired.' }),
  last_error: z.string().nullable(),
  created_at: timeField('When it was asked for.'),
  finished_at: timeField('When it ended.').nullable(),
})

export const reconciliationSchema = reconciliationShape.meta({ id: 'Reconciliation' })

export const findingSchema = z
  .object({
    id: idField('fnd', 'Names the finding.'),
    object: z.literal('finding'),
    kind: z.enum(findingKinds),
    status: z.enum(findingStatuses),
    provider: z.string(),
    about: z.string().meta({ description: "An id of the provider's, or one of ours." }),
    reconciliation: idField('rec', 'The comparison that found it.').nullable(),
    tenant: idField('tnt', 'Whose payment it is about.').nullable(),
    payment: idField('pay', 'The payment.').nullable(),
    refund: idField('re', 'The refund.').nullable(),
    operation: idField('op', 'The operation.').nullable(),
    ours: anyMembers.nullable().meta({ description: 'What we have on record.' }),
    theirs: anyMembers.nullable().meta({ description: 'What the provider has.' }),
    opened_at: timeField('When it was found.'),
    resolved_at: timeField('When it was closed.').nullable(),
    resolved_by: z.string().nullable(),
    note: z.string().nullable(),
  })
  .meta({ id: 'Finding' })

export const findingListSchema = listOf('FindingList', findingSchema)

export const reconciliationWithFindingsSchema = reconciliationShape
  .extend({ findings: findingListSchema })
  .meta({ id: 'ReconciliationWithFindings' })

export const adminActionSchema = z
  .object({
    id: idField('act', 'Names the line of the audit trail.'),
    object: z.literal('admin_action'),
    actor: z.string(),
    action: z.string().meta({ examples: ['operation.resume'] }),
    subject: z.string().nullable(),
    details: anyMembers,
    happened_at: timeField('When it was done.'),
  })
  .meta({ id: 'AdminAction' })
