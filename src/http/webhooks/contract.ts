// Contracts of the endpoints for webhooks.
import { z } from 'zod'
import { deliveryStatuses } from '../../domain/webhooks/webhook-delivery.ts'
import { noBody } from '../requests/body-fields.ts'
import { createWebhookEndpointBody } from './webhook-endpoints-create.ts'
import { replayWebhooksBody } from './webhook-endpoints-replay.ts'
import { REPLAY_MAX } from '../../domain/webhooks/webhook-delivery.ts'
import { updateWebhookEndpointBody } from './webhook-endpoints-update.ts'
import { listOf } from '../contracts/fields.ts'
import {
  deletedWebhookEndpointSchema,
  exampleEndpoint,
  pendingDelivery,
  webhookDeliverySchema,
  webhookEndpointSchema,
  webhookReplaySchema,
  webhookEndpointWithSecretSchema,
} from './schema.ts'
import type { Contracts } from '../contracts/contract.ts'
import { idFilter, idInPath, oneOf } from '../contracts/parameters.ts'

const endpointInPath = idInPath('we', 'The id of the webhook endpoint.')
const deliveryInPath = idInPath('wd', 'The id of the delivery.')
export const webhookContracts: Contracts = {
  'POST /v1/webhook-endpoints': {
    operationId: 'createWebhookEndpoint',
    tag: 'Webhooks',
    summary: 'Create a webhook endpoint',
    description:
      'Creates a webhook endpoint: from now on, the service sends the chosen events to its URL. Store the secret of the response to verify the signatures of webhooks; it cannot be retrieved later.',
    keyed: 'local',
    body: {
      schema: createWebhookEndpointBody.meta({ id: 'CreateWebhookEndpoint' }),
      example: { url: 'https://merchant.example/webhooks', event_types: ['payment.succeeded'] },
    },
    answers: {
      201: {
        description: 'The webhook endpoint, with its secret.',
        schema: webhookEndpointWithSecretSchema,
        headers: ['Location'],
      },
    },
    problems: ['too-many-webhook-endpoints', 'webhook-url-refused'],
  },
  'GET /v1/webhook-endpoints': {
    operationId: 'listWebhookEndpoints',
    tag: 'Webhooks',
    summary: 'List webhook endpoints',
    description: 'Returns your webhook endpoints, newest first.',
    isList: true,
    answers: {
      200: {
        description: 'A page of webhook endpoints.',
        schema: listOf('WebhookEndpointList', webhookEndpointSchema),
      },
    },
  },
  'GET /v1/webhook-endpoints/:id': {
    operationId: 'getWebhookEndpoint',
    tag: 'Webhooks',
    summary: 'Retrieve a webhook endpoint',
    description: 'Returns a webhook endpoint, without its secret.',
    path: endpointInPath,
    answers: { 200: { description: 'The webhook endpoint.', schema: webhookEndpointSchema } },
  },
  'POST /v1/webhook-endpoints/:id': {
    operationId: 'updateWebhookEndpoint',
    tag: 'Webhooks',
    summary: 'Update a webhook endpoint',
    description:
      'Changes the fields that the request names, and keeps the others. With `disabled`, it disables the endpoint or enables it again. Waiting deliveries are sent to the new URL. The secret stays the same.',
    path: endpointInPath,
    keyed: 'local',
    body: {
      schema: updateWebhookEndpointBody.meta({ id: 'UpdateWebhookEndpoint' }),
      example: { disabled: true },
    },
    answers: {
      200: {
        description: 'The webhook endpoint, without its secret.',
        schema: webhookEndpointSchema,
        headers: ['Location'],
        example: { ...exampleEndpoint, status: 'disabled', disabled_reason: 'requested' },
      },
    },
    problems: ['webhook-url-refused'],
  },
  'DELETE /v1/webhook-endpoints/:id': {
    operationId: 'deleteWebhookEndpoint',
    tag: 'Webhooks',
    summary: 'Delete a webhook endpoint',
    description: 'Deletes a webhook endpoint. No more events are sent to its URL.',
    path: endpointInPath,
    keyed: 'local',
    body: noBody,
    answers: {
      200: {
        description: 'The webhook endpoint is deleted.',
        schema: deletedWebhookEndpointSchema,
      },
    },
  },
  'POST /v1/webhook-endpoints/:id/rotate-secret': {
    operationId: 'rotateWebhookSecret',
    tag: 'Webhooks',
    summary: 'Rotate the secret of a webhook endpoint',
    description:
      'Creates a new secret for a webhook endpoint. For 24 hours, webhooks are signed with both the old and the new secret, so that you can switch without losing events. After several rotations, the last three secrets that were replaced within 24 hours sign, too.',
    path: endpointInPath,
    keyed: 'local',
    body: noBody,
    answers: {
      200: {
        description: 'The webhook endpoint, with its new secret.',
        schema: webhookEndpointWithSecretSchema,
        headers: ['Location'],
      },
    },
  },
  'POST /v1/webhook-endpoints/:id/replay': {
    operationId: 'replayWebhooks',
    tag: 'Webhooks',
    summary: 'Replay failed webhooks',
    description: `Sends the events again whose delivery to this endpoint has failed since a moment, the oldest first, each with the full schedule of retries. One request starts up to ${REPLAY_MAX} deliveries. Events that happened while the endpoint was disabled have no delivery: read them from \`/v1/events\`.`,
    path: endpointInPath,
    keyed: 'local',
    body: {
      schema: replayWebhooksBody,
      example: { since: '2026-01-31T12:00:00Z' },
    },
    answers: {
      202: { description: 'The deliveries are pending again.', schema: webhookReplaySchema },
    },
    problems: ['webhook-endpoint-disabled'],
  },
  'POST /v1/webhook-endpoints/:id/test': {
    operationId: 'testWebhookEndpoint',
    tag: 'Webhooks',
    summary: 'Test a webhook endpoint',
    description:
      'Sends the event `webhook_endpoint.test` to this endpoint alone, whichever types it has chosen. Read the delivery of the response to see the result.',
    path: endpointInPath,
    keyed: 'local',
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
  },
  'GET /v1/webhook-deliveries': {
    operationId: 'listWebhookDeliveries',
    tag: 'Webhooks',
    summary: 'List webhook deliveries',
    description:
      'Returns the deliveries of events to your webhook endpoints, newest first. One is shown only when no earlier one can still appear, so that a program can follow the list with `ending_before`.',
    isList: true,
    query: z.object({
      endpoint: idFilter('we', 'Only return deliveries to this webhook endpoint.'),
      event: idFilter('evt', 'Only return deliveries of this event.'),
      status: oneOf(deliveryStatuses, 'Only return deliveries with this status.'),
    }),
    answers: {
      200: {
        description: 'A page of deliveries.',
        schema: listOf('WebhookDeliveryList', webhookDeliverySchema),
      },
    },
  },
  'GET /v1/webhook-deliveries/:id': {
    operationId: 'getWebhookDelivery',
    tag: 'Webhooks',
    summary: 'Retrieve a webhook delivery',
    description: 'Returns a delivery with its attempts.',
    path: deliveryInPath,
    answers: { 200: { description: 'The delivery.', schema: webhookDeliverySchema } },
  },
  'POST /v1/webhook-deliveries/:id/redeliver': {
    operationId: 'redeliverWebhook',
    tag: 'Webhooks',
    summary: 'Redeliver a webhook',
    description:
      'Sends the event of a delivery to its webhook endpoint again, with the full schedule of retries.',
    path: deliveryInPath,
    keyed: 'local',
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
  },
}
