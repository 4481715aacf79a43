// GET /v1/payments, /v1/payments/:id and its timeline: list payments, and return one.
import { z } from 'zod'
import { type PhaseRunRecord, listPhaseRuns } from '../../db/operations/phase-runs.ts'
import { requestCheckOfPayment } from '../../db/operations/requested-checks.ts'
import { listPayments, readPayment } from '../../db/payments/payments.ts'
import { presentPayment, type Payment } from '../../domain/payments/payment.ts'
import type { Endpoints } from '../contracts/contract.ts'
import { render, shownAmount, shownCurrency, timeField, listOf } from '../contracts/fields.ts'
import { readOne, readList, type Resource } from '../contracts/reads.ts'
import type { ServiceParts } from '../endpoint.ts'
import { byReference } from '../contracts/parameters.ts'
import { ownPayment } from './payment.ts'

export const phaseRunSchema = z
  .object({
    object: z.literal('phase_run'),
    operation: z.string().meta({ description: 'The kind of operation.' }),
    phase: z.string().nullable().meta({
      description: 'The step. Null for the entry that records the beginning of an operation.',
    }),
    recovery_point: z.string().nullable().meta({
      description: 'The recovery point that the attempt reached. Null when it recorded no outcome.',
    }),
    attempt: z.int().meta({
      description:
        'How many times work on the operation had started. All tries of one run have the same number.',
    }),
    lease_epoch: z
      .int()
      .meta({ description: 'The number of the lease under which the attempt ran.' }),
    provider: z
      .object({
        kind: z.enum(['call', 'look']).nullable().meta({
          description:
            'Whether the request could execute something: `call`, or only read: `look`. Null when that was not recorded.',
        }),
        amount: shownAmount('The amount that it is about').nullable(),
        currency: shownCurrency.nullable(),
        outcome: z.enum(['done', 'declined', 'not_executed', 'unknown']).meta({
          description:
            'The outcome of the provider call. `done`: the provider executed it. `declined`: the provider refused it. `not_executed`: it is proved that nothing was executed. `unknown`: the answer was lost.',
        }),
        asked: z
          .record(z.string(), z.unknown())
          .nullable()
          .meta({ description: 'The request to the provider.' }),
        answered: z
          .record(z.string(), z.unknown())
          .nullable()
          .meta({ description: "The provider's response." }),
      })
      .nullable()
      .meta({
        description:
          'The provider call of the step, without secrets. Null when the step made no provider call.',
      }),
    started_at: timeField('When the attempt began.'),
    ended_at: timeField(
      'When the provider answered, or was waited for no longer. Null for the entry that records the beginning of an operation.',
    ).nullable(),
    recorded_at: timeField('When the attempt was recorded, together with others.'),
  })
  .meta({ id: 'PhaseRun', description: 'One attempt of one step of an operation.' })

/** For as long as the provider counts the reads of a transaction. */
const MONTH_SECONDS = 30 * 24 * 60 * 60

/** Errors of the store fail the read, like the errors of its other statements. */
export async function checkOnRead(
  { store, settings }: ServiceParts,
  { tenantId, paymentId, status }: { tenantId: string; paymentId: string; status: string },
): Promise<void> {
  if (status !== 'unknown') return
  const apart = { seconds: settings.CHECK_ON_READ_SECONDS, mostSeconds: MONTH_SECONDS }
  await requestCheckOfPayment(store.sql, { tenantId, paymentId }, apart)
}

/**
 * Renders one attempt of a phase. `recovery_point` is null when the attempt recorded no outcome.
 */
export function presentPhaseRun(run: PhaseRunRecord): Record<string, unknown> {
  const provider = run.outcome && presentExchange(run.outcome, run)
  return render(phaseRunSchema, { ...run, recoveryPoint: run.reached, provider })
}

/** The engine describes each call: whether it executes anything, and what it is about. */
function presentExchange(
  outcome: NonNullable<PhaseRunRecord['outcome']>,
  { asked, answered }: PhaseRunRecord,
): Record<string, unknown> {
  const { kind = null, ...request } = asked ?? {}
  const { amount = null, currency = null } = request
  return { kind, amount, currency, outcome, asked: request, answered }
}

/** Reads that come together share a statement. */
export const sharedPayment: Resource<Payment> = {
  ...ownPayment,
  find: (sql, id, tenantId) => readPayment({ tenantId, id }, sql),
}

const ofPayments = { tag: 'Payments', scope: 'payments:read' } as const

export const paymentEndpoints: Endpoints = {
  'GET /v1/payments': readList({
    operationId: 'listPayments',
    summary: 'List payments',
    description: 'Returns your payments, newest first.',
    of: sharedPayment,
    ...ofPayments,
    filters: {
      reference: byReference('payments'),
    },
    read: ({ store }, page, filters, { reader }) => listPayments(store.sql, reader, filters, page),
    answer: 'A page of payments.',
  }),
  'GET /v1/payments/:id': readOne({
    operationId: 'getPayment',
    summary: 'Retrieve a payment',
    description:
      'Returns a payment. If its outcome is unknown, the request also makes the service look up the outcome at the provider soon.',
    of: sharedPayment,
    ...ofPayments,
    async show(parts, found) {
      await checkOnRead(parts, { ...found, paymentId: found.id })
      return presentPayment(found)
    },
    answer: 'The payment.',
  }),
  'GET /v1/payments/:id/timeline': readOne({
    operationId: 'getPaymentTimeline',
    summary: 'Retrieve the timeline of a payment',
    description:
      'Returns every attempt of every step of the operations on a payment and its refunds, oldest first. Use it to see exactly what was sent to the provider, and when. The list is not paginated.',
    of: sharedPayment,
    ...ofPayments,
    async show({ store }, { id }, tenantId) {
      const runs = await listPhaseRuns(store, tenantId, id)
      return { object: 'list', data: runs.map(presentPhaseRun), has_more: false }
    },
    answer: 'The timeline of the payment.',
    schema: listOf('PaymentTimeline', phaseRunSchema),
  }),
}
