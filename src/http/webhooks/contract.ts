// The contracts of the endpoints of webhooks.
import { z } from 'zod'
import { deliveryStatuses } from '../../domain/webhooks/webhook-delivery.ts'
import { noFields } from '../requests/body-fields.ts'
import { createWebhookEndpointBody } from './webhook-endpoints-create.ts'
import { listOf } from '../contracts/fields.ts'
import {
  deletedWebhookEndpointSchema,
  webhookDeliverySchema,
  webhookEndpointSchema,
  webhookEndpointWithSecretSchema,
} from './schema.ts'
import type { Contracts } from '../contracts/contract.ts'
import { idFilter, idInPath, oneOf } from '../contracts/parameters.ts'

const endpointInPath = idInPath('we', 'The webhook endpoint.')
const deliveryInPath = idInPath('wd', 'The delivery.')
const nothing = { schema: noFields, mayOmit: true }

export const webhookContracts: Contracts = {
  'POST /v1/webhook-endpoints': {
    operationId: 'createWebhookEndpoint',
    tag: 'Webhooks',
    summary: 'Have events sent to a URL',
    keyed: 'local',
    body: {
      schema: createWebhookEndpointBody.meta({ id: 'CreateWebhookEndpoint' }),
      example: { url: 'https://merchant.example/webhooks', event_types: ['payment.succeeded'] },
    },
    answers: {
      201: {
        description: 'The webhook endpoint, with the secret that signs what is sent to it.',
        schema: webhookEndpointWithSecretSchema,
        headers: ['Location'],
      },
    },
    problems: ['too-many-webhook-endpoints', 'webhook-url-refused'],
  },
  'GET /v1/webhook-endpoints': {
    operationId: 'listWebhookEndpoints',
    tag: 'Webhooks',
    summary: 'List webhook endpoints, newest first',
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
    summary: 'Read a webhook endpoint',
    path: endpointInPath,
    answers: { 200: { description: 'The webhook endpoint.', schema: webhookEndpointSchema } },
  },
  'DELETE /v1/webhook-endpoints/:id': {
    operationId: 'deleteWebhookEndpoint',
    tag: 'Webhooks',
    summary: 'Delete a webhook endpoint',
    path: endpointInPath,
    keyed: 'local',
    body: nothing,
    answers: {
      200: { description: 'It is deleted.', schema: deletedWebhookEndpointSchema },
    },
  },
  'POST /v1/webhook-endpoints/:id/rotate-secret': {
    operationId: 'rotateWebhookSecret',
    tag: 'Webhooks',
    summary: 'Replace the secret of a webhook endpoint',
    description: 'The secret before it goes on signing for 24 hours, beside the new one.',
    path: endpointInPath,
    keyed: 'local',
    body: nothing,
    answers: {
      200: {
        description: 'The webhook endpoint, with its new secret.',
        schema: webhookEndpointWithSecretSchema,
        headers: ['Location'],
      },
    },
  },
  'GET /v1/webhook-deliveries': {
    operationId: 'listWebhookDeliveries',
    tag: 'Webhooks',
    summary: 'List deliveries, newest first',
    isList: true,
    query: z.object({
      endpoint: idFilter('we', 'Only those to this webhook endpoint.'),
      event: idFilter('evt', 'Only those of this event.'),
      status: oneOf(deliveryStatuses, 'Only those in this status.'),
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
    summary: 'Read a delivery and its attempts',
    path: deliveryInPath,
    answers: { 200: { description: 'The delivery.', schema: webhookDeliverySchema } },
  },
  'POST /v1/webhook-deliveries/:id/redeliver': {
    operationId: 'redeliverWebhook',
    tag: 'Webhooks',
    summary: 'Send an event to a webhook endpoint again',
    path: deliveryInPath,
    keyed: 'local',
    body: nothing,
    answers: {
      202: {
        description: 'It is sent again, from the beginning of the schedule.',
        schema: webhookDeliverySchema,
        headers: ['Location'],
      },
    },
    problems: ['webhook-endpoint-disabled'],
  },
}
