// GET /v1/webhook-deliveries, redelivery, test events, and the replay of what an endpoint missed.
import { z } from 'zod'
import {
  deliveryPath,
  REPLAY_MAX,
  attemptErrors,
  deliveryStatuses,
  type WebhookDelivery,
} from '../../domain/webhooks/webhook-delivery.ts'
import {
  EXAMPLE_TIME,
  exampleId,
  idField,
  timeField,
  idempotencyField,
  render,
} from '../contracts/fields.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { noBody } from '../requests/validate-body.ts'
import { findEndpoint, insertTestEvent } from '../../db/webhooks/webhook-endpoints.ts'
import { jsonType } from '../responses/answer.ts'
import { resourceResponse } from '../../domain/operations/stored-response.ts'
import { keyedLocally } from '../keyed/keyed-locally.ts'
import {
  findDelivery,
  replayFailedDeliveries,
  listDeliveries,
  redeliverIfEnabled,
} from '../../db/webhooks/webhook-deliveries.ts'
import type { Endpoints } from '../contracts/contract.ts'
import { byId, byName } from '../contracts/parameters.ts'
import {
  notFound,
  pathOf,
  readOne,
  readList,
  requestedId,
  type Resource,
} from '../contracts/reads.ts'
import { changesOfWebhooks, ownEndpoint } from './webhook-endpoints.ts'

export const webhookReplaySchema = z
  .object({
    object: z.literal('webhook_replay'),
    endpoint: idField('we', 'The webhook endpoint.'),
    since: timeField('The time of the request.'),
    deliveries: z.int().meta({ description: 'How many deliveries are pending again.' }),
    has_more: z.boolean().meta({
      description:
        'Whether there may be more failed deliveries. Send another request, with a new idempotency key.',
    }),
    idempotency: idempotencyField,
  })
  .meta({
    id: 'WebhookReplay',
    examples: [
      {
        object: 'webhook_replay',
        endpoint: exampleId('we'),
        since: EXAMPLE_TIME,
        deliveries: 42,
        has_more: false,
      },
    ],
  })

export const replayWebhooksBody = z
  .strictObject({
    since: z.iso.datetime({ offset: true }).meta({
      description:
        'Only deliveries of events that happened at this time or later. A time in RFC 3339.',
    }),
  })
  .meta({ id: 'ReplayWebhooks' })

const exampleDelivery = {
  id: exampleId('wd'),
  object: 'webhook_delivery',
  event: exampleId('evt'),
  event_type: 'payment.succeeded',
  endpoint: exampleId('we'),
  status: 'succeeded',
  next_attempt_at: null,
  attempts: [
    { number: 1, started_at: EXAMPLE_TIME, latency_ms: 84, http_status: 204, error: null },
  ],
  created_at: EXAMPLE_TIME,
}

/** A delivery whose next attempt is due. */
const pendingDelivery = {
  ...exampleDelivery,
  status: 'pending',
  next_attempt_at: EXAMPLE_TIME,
}

export const webhookDeliverySchema = z
  .object({
    id: idField('wd', 'The id of the delivery.'),
    object: z.literal('webhook_delivery'),
    event: idField('evt', 'The event that is delivered.'),
    event_type: z.string().meta({ description: 'The type of the event.' }),
    endpoint: idField('we', 'The webhook endpoint that the event is sent to.'),
    status: z.enum(deliveryStatuses).meta({
      description:
        'The status of the delivery. `pending`: another attempt will follow. `succeeded`: the endpoint received the event. `failed`: no more attempts are made.',
    }),
    next_attempt_at: timeField(
      'When the next attempt is made. Null when no attempt will follow.',
    ).nullable(),
    attempts: z
      .array(
        z.object({
          number: z.int().meta({ description: 'The number of the attempt.' }),
          started_at: timeField('When the attempt began.'),
          latency_ms: z
            .number()
            .meta({ description: 'The duration of the attempt, in milliseconds.' }),
          http_status: z
            .int()
            .nullable()
            .meta({ description: 'The HTTP status that the endpoint answered with.' }),
          error: z
            .enum(attemptErrors)
            .nullable()
            .meta({ description: 'Why there was no answer. Null when there was one.' }),
        }),
      )
      .meta({ description: 'The last 30 attempts, oldest first.' }),
    created_at: timeField('When the event happened.'),
    idempotency: idempotencyField,
  })
  .meta({
    id: 'WebhookDelivery',
    examples: [exampleDelivery],
  })

const ownDelivery: Resource<WebhookDelivery> = {
  prefix: 'wd',
  schema: webhookDeliverySchema,
  idInPath: 'The id of the delivery.',
  find: (sql, id, tenantId) => findDelivery(sql, tenantId, id),
}

export const deliveryFilters = {
  endpoint: byId('we', 'webhook endpoint', 'Only return deliveries to this webhook endpoint.'),
  event: byId('evt', 'event', 'Only return deliveries of this event.'),
  status: byName(
    deliveryStatuses,
    'pending, succeeded or failed',
    'Only return deliveries with this status.',
  ),
}

export const deliveryEndpoints: Endpoints = {
  'POST /v1/webhook-endpoints/:id/test': keyedLocally({
    operation: 'webhook_endpoint.test',
    operationId: 'testWebhookEndpoint',
    ...changesOfWebhooks,
    summary: 'Test a webhook endpoint',
    description:
      'Sends the event `webhook_endpoint.test` to this endpoint alone, whichever types it has chosen. Read the delivery of the response to see the result.',
    ...pathOf(ownEndpoint),
    body: noBody,
    answers: {
      202: {
        description: 'The delivery of the test event, which is pending.',
        schema: webhookDeliverySchema,
        headers: ['Location'],
        example: { ...pendingDelivery, event_type: 'webhook_endpoint.test', attempts: [] },
      },
    },
    problems: ['webhook-endpoint-disabled'],
    read: ({ request }) => requestedId(ownEndpoint, request),
    async work(tx, id, tenantId) {
      const endpoint = (await findEndpoint(tx, tenantId, id)) ?? notFound()
      const deliveryId = await insertTestEvent(tx, endpoint)
      const delivery = deliveryId && (await findDelivery(tx, tenantId, deliveryId))
      if (!delivery) throw new ProblemError('webhook-endpoint-disabled')
      return resourceResponse(
        202,
        deliveryPath(delivery.id),
        render(webhookDeliverySchema, delivery),
      )
    },
  }),
  'POST /v1/webhook-endpoints/:id/replay': keyedLocally({
    operation: 'webhook_endpoint.replay',
    operationId: 'replayWebhooks',
    ...changesOfWebhooks,
    summary: 'Replay failed webhooks',
    description: `Sends the events again whose delivery to this endpoint has failed since a moment, the oldest first, each with the full schedule of retries. One request starts up to ${REPLAY_MAX} deliveries. Events that happened while the endpoint was disabled have no delivery: read them from \`/v1/events\`.`,
    ...pathOf(ownEndpoint),
    body: {
      schema: replayWebhooksBody,
      example: { since: '2026-01-31T12:00:00Z' },
    },
    answers: {
      202: { description: 'The deliveries are pending again.', schema: webhookReplaySchema },
    },
    problems: ['webhook-endpoint-disabled'],
    read: ({ request, body: { since } }) => ({
      id: requestedId(ownEndpoint, request),
      since: new Date(since),
    }),
    // The 202 is a final response: this operation only makes the deliveries pending again.
    async work(tx, { id, since }, tenantId) {
      const endpoint = (await findEndpoint(tx, tenantId, id)) ?? notFound()
      if (endpoint.status !== 'enabled') throw new ProblemError('webhook-endpoint-disabled')
      const deliveries = await replayFailedDeliveries(tx, endpoint, since, REPLAY_MAX)
      const shown = { endpointId: id, since, deliveries, hasMore: deliveries === REPLAY_MAX }
      const replay = render(webhookReplaySchema, shown)
      return { status: 202, headers: jsonType, body: JSON.stringify(replay) }
    },
  }),
  'GET /v1/webhook-deliveries': readList({
    operationId: 'listWebhookDeliveries',
    summary: 'List webhook deliveries',
    description:
      'Returns the deliveries of events to your webhook endpoints, newest first. One is shown only when no earlier one can still appear, so that a program can follow the list with `ending_before`.',
    of: ownDelivery,
    tag: 'Webhooks',
    scope: 'webhooks:read',
    filters: deliveryFilters,
    read: ({ store }, page, { endpoint: endpointId, event: eventId, status }, { reader }) =>
      listDeliveries(store.sql, reader, { endpointId, eventId, status }, page),
    answer: 'A page of deliveries.',
  }),
  'GET /v1/webhook-deliveries/:id': readOne({
    operationId: 'getWebhookDelivery',
    summary: 'Retrieve a webhook delivery',
    description: 'Returns a delivery with its attempts.',
    of: ownDelivery,
    tag: 'Webhooks',
    scope: 'webhooks:read',
    answer: 'The delivery.',
  }),
  'POST /v1/webhook-deliveries/:id/redeliver': keyedLocally({
    operation: 'webhook_delivery.redeliver',
    operationId: 'redeliverWebhook',
    ...changesOfWebhooks,
    summary: 'Redeliver a webhook',
    description:
      'Sends the event of a delivery to its webhook endpoint again, with the full schedule of retries.',
    ...pathOf(ownDelivery),
    body: noBody,
    answers: {
      202: {
        description: 'The delivery, which is pending again.',
        schema: webhookDeliverySchema,
        headers: ['Location'],
        example: pendingDelivery,
      },
    },
    problems: ['webhook-endpoint-disabled'],
    read: ({ request }) => requestedId(ownDelivery, request),
    // The 202 is a final response: this operation only makes the delivery pending again.
    async work(tx, id, tenantId) {
      const enabled = await redeliverIfEnabled(tx, { tenantId, id })
      const delivery = (await findDelivery(tx, tenantId, id)) ?? notFound()
      if (!enabled) throw new ProblemError('webhook-endpoint-disabled')
      return resourceResponse(202, deliveryPath(id), render(webhookDeliverySchema, delivery))
    },
  }),
}
