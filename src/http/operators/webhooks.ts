// The endpoints below /admin/webhook-endpoints and /admin/webhook-deliveries: those of all tenants.
import type { Fragment, Sql, Transaction } from '../../db/connection/client.ts'
import {
  findDelivery,
  listDeliveries,
  redeliverIfEnabled,
  replayFailedDeliveries,
} from '../../db/webhooks/webhook-deliveries.ts'
import { findEndpoint, listEndpoints } from '../../db/webhooks/webhook-endpoints.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { showTenantId } from '../../domain/tenants/tenant.ts'
import { REPLAY_MAX } from '../../domain/webhooks/webhook-delivery.ts'
import type { Endpoints } from '../contracts/contract.ts'
import { idField, render } from '../contracts/fields.ts'
import { byId, byName } from '../contracts/parameters.ts'
import {
  deliveryFilters,
  replayWebhooksBody,
  webhookDeliverySchema,
  webhookReplaySchema,
} from '../resources/webhook-deliveries.ts'
import { webhookEndpointSchema } from '../resources/webhook-endpoints.ts'
import { readOne, readList, findRequested } from '../contracts/reads.ts'
import { adminCommand } from './commands.ts'

const tenant = idField('tnt', 'The tenant.')
const replaySchema = webhookReplaySchema.extend({ tenant }).meta({ id: 'TenantWebhookReplay' })

/** As its tenant sees it, with the tenant. */
const endpoint = {
  prefix: 'we',
  schema: webhookEndpointSchema.extend({ tenant }).meta({ id: 'TenantWebhookEndpoint' }),
  idInPath: 'The id of the webhook endpoint.',
  find: (sql: Sql | Transaction, id: string) => findEndpoint(sql, null, id),
} as const

/** As its tenant sees it, with the tenant. */
const delivery = {
  prefix: 'wd',
  schema: webhookDeliverySchema.extend({ tenant }).meta({ id: 'TenantWebhookDelivery' }),
  idInPath: 'The id of the delivery.',
  find: (sql: Sql | Transaction, id: string) => findDelivery(sql, null, id),
} as const

const endpointViews = ['enabled', 'disabled', 'paused'] as const

/** Conditions of each view on the endpoint in `entry`. */
const isInView: Record<(typeof endpointViews)[number], (sql: Sql) => Fragment> = {
  enabled: (sql) => sql`and entry.status = 'enabled'`,
  disabled: (sql) => sql`and entry.status = 'disabled'`,
  paused: (sql) => sql`and entry.status = 'enabled' and entry.paused_until > now()`,
}

const ofTenant = byId('tnt', 'tenant', 'Only return those of this tenant.')

export const operatorWebhookEndpoints: Endpoints = {
  'GET /admin/webhook-endpoints': readList({
    operationId: 'listTenantWebhookEndpoints',
    summary: 'List webhook endpoints of tenants',
    description:
      'Returns the webhook endpoints of all tenants, newest first, without their secrets.',
    of: endpoint,
    filters: {
      tenant: ofTenant,
      status: byName(
        endpointViews,
        'enabled, disabled or paused',
        'Only return endpoints with this status. `paused`: enabled, but left alone for a while after repeated failures.',
      ),
    },
    read: ({ store: { sql } }, page, { tenant: ofOne = null, status: view }) =>
      listEndpoints(sql, ofOne, page, view && isInView[view](sql)),
    answer: 'A page of webhook endpoints.',
  }),
  'GET /admin/webhook-endpoints/:id': readOne({
    operationId: 'getTenantWebhookEndpoint',
    summary: 'Retrieve a webhook endpoint of a tenant',
    description: 'Returns a webhook endpoint of any tenant, without its secret.',
    of: endpoint,
    answer: 'The webhook endpoint.',
  }),
  'POST /admin/webhook-endpoints/:id/replay': adminCommand({
    operationId: 'replayTenantWebhooks',
    summary: 'Replay failed webhooks of a tenant',
    description: `Sends the events again whose delivery to this endpoint has failed since a moment, the oldest first, each with the full schedule of retries. One request starts up to ${REPLAY_MAX} deliveries.`,
    action: 'webhook_endpoint.replay',
    on: endpoint,
    body: { schema: replayWebhooksBody, example: { since: '2026-01-31T12:00:00Z' } },
    async work({ tx, body, found: { id, tenantId, status } }) {
      if (status !== 'enabled') throw new ProblemError('webhook-endpoint-disabled')
      const since = new Date(body.since)
      const deliveries = await replayFailedDeliveries(tx, { id, tenantId }, since, REPLAY_MAX)
      const hasMore = deliveries === REPLAY_MAX
      return {
        answer: render(replaySchema, { tenantId, endpointId: id, since, deliveries, hasMore }),
        details: { tenant: showTenantId(tenantId), since: since.toISOString(), deliveries },
      }
    },
    answers: { 202: { description: 'The deliveries are pending again.', schema: replaySchema } },
    problems: ['webhook-endpoint-disabled'],
  }),
  'GET /admin/webhook-deliveries': readList({
    operationId: 'listTenantWebhookDeliveries',
    summary: 'List webhook deliveries of tenants',
    description: 'Returns the deliveries of events to the endpoints of all tenants, newest first.',
    of: delivery,
    filters: { tenant: ofTenant, ...deliveryFilters },
    read({ store }, page, { tenant: ofOne = null, endpoint: endpointId, event: eventId, status }) {
      return listDeliveries(store.sql, ofOne, { endpointId, eventId, status }, page)
    },
    answer: 'A page of deliveries.',
  }),
  'GET /admin/webhook-deliveries/:id': readOne({
    operationId: 'getTenantWebhookDelivery',
    summary: 'Retrieve a webhook delivery of a tenant',
    description: 'Returns a delivery of any tenant, with its attempts.',
    of: delivery,
    answer: 'The delivery.',
  }),
  'POST /admin/webhook-deliveries/:id/redeliver': adminCommand({
    operationId: 'redeliverTenantWebhook',
    summary: 'Redeliver a webhook of a tenant',
    description:
      'Sends the event of a delivery to its webhook endpoint again, with the full schedule of retries.',
    action: 'webhook_delivery.redeliver',
    on: delivery,
    async work({ tx, request, found: before }) {
      if (!(await redeliverIfEnabled(tx, before))) {
        throw new ProblemError('webhook-endpoint-disabled')
      }
      const now = await findRequested(delivery, tx, request)
      return {
        answer: render(delivery.schema, now),
        details: { tenant: showTenantId(now.tenantId), from: before.status },
      }
    },
    answers: {
      202: { description: 'The delivery, which is pending again.', schema: delivery.schema },
    },
    problems: ['webhook-endpoint-disabled'],
  }),
}
