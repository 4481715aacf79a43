// Describes the JSON of payments for operators: as their tenants see them, but with the tenant and
// without the client secret.
import { z } from 'zod'
import { operationStatuses } from '../../../domain/operations/operation.ts'
import { operationSchema } from '../../admin/schema.ts'
import { idField, listOf, timeField } from '../../contracts/fields.ts'
import { disputeSchema } from '../../disputes/schema.ts'
import { disputeEventSchema, paymentEventSchema, refundEventSchema } from '../../events/schema.ts'
import { ledgerTransactionSchema } from '../../ledger/schema.ts'
import { webhookDeliverySchema } from '../../webhooks/schema.ts'
import { paymentSchema, phaseRunSchema, refundSchema } from '../schema.ts'
import { LIFE_MAX, lifeLists } from './life-lists.ts'

const openOperation = z.object({
  id: idField('op', 'The id of the operation.'),
  operation: z.string().meta({ description: 'The kind of operation.' }),
  status: z.enum(operationStatuses).meta({ description: 'The status of the operation.' }),
  recovery_point: z
    .string()
    .meta({ description: 'The last step that was recorded; work resumes after it.' }),
})

const overviewShape = paymentSchema.extend({
  tenant: idField('tnt', 'The tenant.'),
  operation: openOperation
    .nullable()
    .meta({ description: 'The newest operation on the payment that is not completed.' }),
})

const paymentOverviewSchema = overviewShape.meta({ id: 'PaymentOverview' })

export const paymentOverviewListSchema = listOf('PaymentOverviewList', paymentOverviewSchema)
  .extend({
    searched_to: idField(
      'pay',
      'When a page is not full, and the search for its filters ended before it looked at all payments: the last payment that it looked at. Then `has_more` is true, and this id, not that of the last entry, is the cursor of the next page. Otherwise null.',
    ).nullable(),
  })
  .meta({ id: 'PaymentOverviewList' })

const requestReplays = z
  .object({
    count: z.int().meta({ description: 'How many requests got the stored response.' }),
    conflicts: z
      .int()
      .meta({ description: 'How many were refused because there was no response yet.' }),
    mismatches: z
      .int()
      .meta({ description: 'How many were refused because they were other requests.' }),
    first_at: timeField('When the first of them came.').nullable(),
    last_at: timeField('When the last of them came.').nullable(),
  })
  .meta({
    description:
      'The requests that used the idempotency key again. The counts are a few seconds old. They can be too small, never too large: a crash of an API process loses its last seconds.',
  })

const completedOperation = operationSchema.extend({
  request_replays: requestReplays,
  completed_at: timeField('When its response was stored. Null until then.').nullable(),
})

const runOfOperation = phaseRunSchema.extend({
  operation_id: idField('op', 'The operation.'),
})

const lifeSchema = z
  .object({
    operations: z
      .array(completedOperation)
      .meta({ description: 'The operations whose idempotency keys are not forgotten yet.' }),
    runs: z.array(runOfOperation).meta({ description: 'Every attempt of every step.' }),
    events: z
      .array(
        z.discriminatedUnion('type', [paymentEventSchema, refundEventSchema, disputeEventSchema]),
      )
      .meta({ description: 'The events, without client secrets.' }),
    deliveries: z.array(webhookDeliverySchema).meta({
      description:
        'The webhook deliveries of these events. When `events` is incomplete, later events can have more.',
    }),
    ledger: z
      .array(ledgerTransactionSchema)
      .meta({ description: 'The transactions that moved its money.' }),
    refunds: z.array(refundSchema).meta({ description: 'Its refunds.' }),
    disputes: z.array(disputeSchema).meta({ description: 'Its disputes.' }),
    has_more: z.boolean().meta({ description: 'Whether a list has more entries than these.' }),
    incomplete: z.array(z.enum(lifeLists)).meta({
      description:
        'The lists that have more entries than these. `deliveries` is among them when `events` is.',
    }),
  })
  .meta({
    id: 'PaymentLife',
    description: `What happened to the payment. Each list has the oldest entries, up to ${LIFE_MAX}, oldest first.`,
  })

export const paymentWithLifeSchema = overviewShape
  .extend({ life: lifeSchema })
  .meta({ id: 'PaymentWithLife' })
