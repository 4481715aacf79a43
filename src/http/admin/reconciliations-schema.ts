// Describes the JSON of reconciliations and of their findings for openapi.yaml.
import { z } from 'zod'
import { findingKinds, findingStatuses, runStatuses } from '../../domain/operations/finding.ts'
import { anyMembers, idField, listOf, timeField } from '../contracts/fields.ts'

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
