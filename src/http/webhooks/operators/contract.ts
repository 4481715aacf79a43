// Contracts of the endpoints by which operators look after the webhooks of tenants.
import { z } from 'zod'
import { endpointViews } from '../../../db/operators/lists/webhook-overviews.ts'
import { deliveryStatuses, REPLAY_MAX } from '../../../domain/webhooks/webhook-delivery.ts'
import type { Contracts } from '../../contracts/contract.ts'
import { idField, listOf } from '../../contracts/fields.ts'
import { idFilter, idInPath, oneOf } from '../../contracts/parameters.ts'
import { noBody } from '../../requests/body-fields.ts'
import { webhookDeliverySchema, webhookEndpointSchema, webhookReplaySchema } from '../schema.ts'
import { replayWebhooksBody } from '../webhook-endpoints-replay.ts'

const tenant = idField('tnt', 'The tenant.')
const endpointSchema = webhookEndpointSchema
  .extend({ tenant })
  .meta({ id: 'TenantWebhookEndpoint' })
const deliverySchema = webhookDeliverySchema
  .extend({ tenant })
  .meta({ id: 'TenantWebhookDelivery' })
const replaySchema = webhookReplaySchema.extend({ tenant }).meta({ id: 'TenantWebhookReplay' })

const ofTenant = idFilter('tnt', 'Only return those of this tenant.')
const endpointInPath = idInPath('we', 'The id of the webhook endpoint.')
const deliveryInPath = idInPath('wd', 'The id of the delivery.')

export const operatorWebhookContracts: Contracts = {
  'GET /admin/webhook-endpoints': {
    operationId: 'listTenantWebhookEndpoints',
    tag: 'Operators',
    summary: 'List webhook endpoints of tenants',
    description:
      'Returns the webhook endpoints of all tenants, newest first, without their secrets.',
    isList: true,
    query: z.object({
      tenant: ofTenant,
      status: oneOf(
        endpointViews,
        'Only return endpoints with this status. `paused`: enabled, but left alone for a while after repeated failures.',
      ),
    }),
    answers: {
      200: {
        description: 'A page of webhook endpoints.',
        schema: listOf('TenantWebhookEndpointList', endpointSchema),
      },
    },
  },
  'GET /admin/webhook-endpoints/:id': {
    operationId: 'getTenantWebhookEndpoint',
    tag: 'Operators',
    summary: 'Retrieve a webhook endpoint of a tenant',
    description: 'Returns a webhook endpoint of any tenant, without its secret.',
    path: endpointInPath,
    answers: { 200: { description: 'The webhook endpoint.', schema: endpointSchema } },
  },
  'POST /admin/webhook-endpoints/:id/replay': {
    operationId: 'replayTenantWebhooks',
    tag: 'Operators',
    summary: 'Replay failed webhooks of a tenant',
    description: `Sends the events again whose delivery to this endpoint has failed since a moment, the oldest first, each with the full schedule of retries. One request starts up to ${REPLAY_MAX} deliveries.`,
    path: endpointInPath,
    body: {
      schema: replayWebhooksBody,
      example: { since: '2026-01-31T12:00:00Z' },
    },
    answers: { 202: { description: 'The deliveries are pending again.', schema: replaySchema } },
    problems: ['webhook-endpoint-disabled'],
  },
  'GET /admin/webhook-deliveries': {
    operationId: 'listTenantWebhookDeliveries',
    tag: 'Operators',
    summary: 'List webhook deliveries of tenants',
    description: 'Returns the deliveries of events to the endpoints of all tenants, newest first.',
    isList: true,
    query: z.object({
      tenant: ofTenant,
      endpoint: idFilter('we', 'Only return deliveries to this webhook endpoint.'),
      event: idFilter('evt', 'Only return deliveries of this event.'),
      status: oneOf(deliveryStatuses, 'Only return deliveries with this status.'),
    }),
    answers: {
      200: {
        description: 'A page of deliveries.',
        schema: listOf('TenantWebhookDeliveryList', deliverySchema),
      },
    },
  },
  'GET /admin/webhook-deliveries/:id': {
    operationId: 'getTenantWebhookDelivery',
    tag: 'Operators',
    summary: 'Retrieve a webhook delivery of a tenant',
    description: 'Returns a delivery of any tenant, with its attempts.',
    path: deliveryInPath,
    answers: { 200: { description: 'The delivery.', schema: deliverySchema } },
  },
  'POST /admin/webhook-deliveries/:id/redeliver': {
    operationId: 'redeliverTenantWebhook',
    tag: 'Operators',
    summary: 'Redeliver a webhook of a tenant',
    description:
      'Sends the event of a delivery to its webhook endpoint again, with the full schedule of retries.',
    path: deliveryInPath,
    body: noBody,
    answers: {
      202: { description: 'The delivery, which is pending again.', schema: deliverySchema },
    },
    problems: ['webhook-endpoint-disabled'],
  },
}
