// The endpoints below /admin/webhook-endpoints and /admin/webhook-deliveries: those of all tenants.
import type { Request } from 'express'
import type { Sql, Transaction } from '../../db/connection/client.ts'
import {
  endpointViews,
  findEndpointOfTenants,
  listEndpointsOfTenants,
  findDeliveryOfTenants,
  listDeliveriesOfTenants,
} from '../../db/operators/lists/webhook-overviews.ts'
import { replayFailedDeliveries, redeliverIfEnabled } from '../../db/webhooks/webhook-deliveries.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { showTenantId } from '../../domain/tenants/tenant.ts'
import {
  parseEndpointId,
  presentEndpoint,
  showEndpointId,
  type WebhookEndpoint,
} from '../../domain/webhooks/webhook-endpoint.ts'
import {
  REPLAY_MAX,
  parseDeliveryId,
  presentDelivery,
  type WebhookDelivery,
  deliveryStatuses,
} from '../../domain/webhooks/webhook-delivery.ts'
import { adminCommand } from './admin-commands.ts'
import { withinStoreTimeout, type AdminEndpoint } from '../endpoint.ts'
import { oneOfFilter, tenantFilter, parseFilteredQuery } from '../requests/list-query.ts'
import { jsonType, showJson, showPage } from '../responses/answer.ts'
import {
  endpointNotFound,
  requestedEndpointId,
  webhookEndpointSchema,
} from '../resources/webhook-endpoints.ts'
import {
  presentReplay,
  replayWebhooksBody,
  webhookReplaySchema,
  webhookDeliverySchema,
  deliveryFilters,
} from '../resources/webhook-deliveries.ts'
import { showId } from '../../domain/resource-id.ts'
import { noFields, noBody } from '../requests/body-fields.ts'
import { admin } from '../server/route.ts'
import { z } from 'zod'
import type { Endpoints } from '../contracts/contract.ts'
import { idField, listOf } from '../contracts/fields.ts'
import { idFilter, idInPath, oneOf } from '../contracts/parameters.ts'

const filtersOfEndpoints = {
  tenant: tenantFilter,
  status: oneOfFilter('enabled, disabled or paused', endpointViews),
}

const listEndpointsEndpoint: AdminEndpoint = async (parts, request) => {
  const { page, filters } = parseFilteredQuery(request.query, parseEndpointId, filtersOfEndpoints)
  const { tenant, status: view } = filters
  const lookup = listEndpointsOfTenants(parts.store.sql, { tenant, view }, page)
  return showPage(await withinStoreTimeout(parts, lookup), showEndpoint)
}

const getEndpointEndpoint: AdminEndpoint = async (parts, request) => {
  const lookup = findRequestedEndpoint(parts.store.sql, request)
  return showJson(showEndpoint(await withinStoreTimeout(parts, lookup)))
}

const replayEndpoint = adminCommand({
  action: 'webhook_endpoint.replay',
  subject: ({ params }) => {
    const id = parseEndpointId(String(params['id']))
    return id === undefined ? null : showEndpointId(id)
  },
  body: replayWebhooksBody,
  async work(_parts, tx, { request, body }) {
    const endpoint = await findRequestedEndpoint(tx, request)
    if (endpoint.status !== 'enabled') throw new ProblemError('webhook-endpoint-disabled')
    const since = new Date(body.since)
    const deliveries = await replayFailedDeliveries(tx, endpoint, since, REPLAY_MAX)
    const replay = presentReplay({ id: endpoint.id, since, deliveries })
    const tenant = showTenantId(endpoint.tenantId)
    return {
      answer: { status: 202, headers: jsonType, body: JSON.stringify({ ...replay, tenant }) },
      details: { tenant, since: since.toISOString(), deliveries },
    }
  },
})

/** @throws ProblemError resource-not-found. */
async function findRequestedEndpoint(
  sql: Sql | Transaction,
  request: Request,
): Promise<WebhookEndpoint> {
  const id = requestedEndpointId(request)
  return (await findEndpointOfTenants(sql, id)) ?? endpointNotFound()
}

/** Renders an endpoint as its tenant sees it, with the tenant. */
function showEndpoint(endpoint: WebhookEndpoint): Record<string, unknown> {
  return { ...presentEndpoint(endpoint), tenant: showTenantId(endpoint.tenantId) }
}

/** Renders a delivery as its tenant sees it, with the tenant. */
function showDelivery(delivery: WebhookDelivery): Record<string, unknown> {
  return { ...presentDelivery(delivery), tenant: showTenantId(delivery.tenantId) }
}

const filtersOfDeliveries = { tenant: tenantFilter, ...deliveryFilters }

const listDeliveriesEndpoint: AdminEndpoint = async (parts, request) => {
  const { page, filters } = parseFilteredQuery(request.query, parseDeliveryId, filtersOfDeliveries)
  const { tenant, endpoint: endpointId, event: eventId, status } = filters
  const filter = { tenant, endpointId, eventId, status }
  const lookup = listDeliveriesOfTenants(parts.store.sql, filter, page)
  return showPage(await withinStoreTimeout(parts, lookup), showDelivery)
}

const getDeliveryEndpoint: AdminEndpoint = async (parts, request) => {
  const lookup = findRequestedDelivery(parts.store.sql, request)
  return showJson(showDelivery(await withinStoreTimeout(parts, lookup)))
}

const redeliverEndpoint = adminCommand({
  action: 'webhook_delivery.redeliver',
  subject: ({ params }) => {
    const id = requestedId(params)
    return id === undefined ? null : showId('wd', id)
  },
  body: noFields,
  async work(_parts, tx, { request }) {
    const before = await findRequestedDelivery(tx, request)
    if (!(await redeliverIfEnabled(tx, before))) throw new ProblemError('webhook-endpoint-disabled')
    const delivery = await findRequestedDelivery(tx, request)
    const body = JSON.stringify(showDelivery(delivery))
    return {
      answer: { status: 202, headers: jsonType, body },
      details: { tenant: showTenantId(delivery.tenantId), from: before.status },
    }
  },
})

const requestedId = (params: Request['params']): string | undefined =>
  parseDeliveryId(String(params['id']))

/** @throws ProblemError resource-not-found. */
async function findRequestedDelivery(
  sql: Sql | Transaction,
  { params }: Request,
): Promise<WebhookDelivery> {
  const id = requestedId(params)
  const delivery = id === undefined ? undefined : await findDeliveryOfTenants(sql, id)
  if (delivery === undefined) throw new ProblemError('resource-not-found')
  return delivery
}

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

export const operatorWebhookEndpoints: Endpoints = {
  'GET /admin/webhook-endpoints': {
    serve: admin(listEndpointsEndpoint),
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
    serve: admin(getEndpointEndpoint),
    operationId: 'getTenantWebhookEndpoint',
    tag: 'Operators',
    summary: 'Retrieve a webhook endpoint of a tenant',
    description: 'Returns a webhook endpoint of any tenant, without its secret.',
    path: endpointInPath,
    answers: { 200: { description: 'The webhook endpoint.', schema: endpointSchema } },
  },
  'POST /admin/webhook-endpoints/:id/replay': {
    serve: admin(replayEndpoint),
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
    serve: admin(listDeliveriesEndpoint),
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
    serve: admin(getDeliveryEndpoint),
    operationId: 'getTenantWebhookDelivery',
    tag: 'Operators',
    summary: 'Retrieve a webhook delivery of a tenant',
    description: 'Returns a delivery of any tenant, with its attempts.',
    path: deliveryInPath,
    answers: { 200: { description: 'The delivery.', schema: deliverySchema } },
  },
  'POST /admin/webhook-deliveries/:id/redeliver': {
    serve: admin(redeliverEndpoint),
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
