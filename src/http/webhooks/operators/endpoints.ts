// GET /admin/webhook-endpoints and GET /admin/webhook-endpoints/:id, and POST .../replay: show
// operators the webhook endpoints of all tenants, and start the failed deliveries to one again.
import type { Request } from 'express'
import type { Sql, Transaction } from '../../../db/connection/client.ts'
import {
  endpointViews,
  findEndpointOfTenants,
  listEndpointsOfTenants,
} from '../../../db/operators/lists/webhook-overviews.ts'
import { replayFailedDeliveries } from '../../../db/webhooks/webhook-deliveries.ts'
import { ProblemError } from '../../../domain/problems/problem-error.ts'
import { showTenantId } from '../../../domain/tenants/tenant.ts'
import {
  parseEndpointId,
  presentEndpoint,
  showEndpointId,
  type WebhookEndpoint,
} from '../../../domain/webhooks/webhook-endpoint.ts'
import { REPLAY_MAX } from '../../../domain/webhooks/webhook-delivery.ts'
import { adminCommand } from '../../admin/admin-commands.ts'
import { withinStoreTimeout, type AdminEndpoint } from '../../endpoint.ts'
import { oneOfFilter, tenantFilter } from '../../requests/list-filters.ts'
import { parseFilteredQuery } from '../../requests/list-query.ts'
import { jsonType, showJson } from '../../responses/answer.ts'
import { showPage } from '../../responses/page-answer.ts'
import { endpointNotFound, requestedEndpointId } from '../webhook-endpoints-find.ts'
import { presentReplay, replayWebhooksBody } from '../webhook-endpoints-replay.ts'

const knownFilters = {
  tenant: tenantFilter,
  status: oneOfFilter('enabled, disabled or paused', endpointViews),
}

export const listEndpointsEndpoint: AdminEndpoint = async (parts, request) => {
  const { page, filters } = parseFilteredQuery(request.query, parseEndpointId, knownFilters)
  const { tenant, status: view } = filters
  const lookup = listEndpointsOfTenants(parts.store.sql, { tenant, view }, page)
  return showPage(await withinStoreTimeout(parts, lookup), presentForOperators)
}

export const getEndpointEndpoint: AdminEndpoint = async (parts, request) => {
  const lookup = findRequestedEndpoint(parts.store.sql, request)
  return showJson(presentForOperators(await withinStoreTimeout(parts, lookup)))
}

export const replayEndpoint = adminCommand({
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
function presentForOperators(endpoint: WebhookEndpoint): Record<string, unknown> {
  return { ...presentEndpoint(endpoint), tenant: showTenantId(endpoint.tenantId) }
}
