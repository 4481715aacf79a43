// GET /admin/webhook-deliveries and GET /admin/webhook-deliveries/:id, and POST .../redeliver: show
// operators the deliveries of all tenants, and make one pending again.
import type { Request } from 'express'
import type { Sql, Transaction } from '../../../db/connection/client.ts'
import {
  findDeliveryOfTenants,
  listDeliveriesOfTenants,
} from '../../../db/operators/lists/webhook-overviews.ts'
import { redeliverIfEnabled } from '../../../db/webhooks/webhook-deliveries.ts'
import { ProblemError } from '../../../domain/problems/problem-error.ts'
import { showId } from '../../../domain/resource-id.ts'
import { showTenantId } from '../../../domain/tenants/tenant.ts'
import {
  parseDeliveryId,
  presentDelivery,
  type WebhookDelivery,
} from '../../../domain/webhooks/webhook-delivery.ts'
import { adminCommand } from '../../admin/admin-commands.ts'
import { withinStoreTimeout, type AdminEndpoint } from '../../endpoint.ts'
import { noFields } from '../../requests/body-fields.ts'
import { tenantFilter } from '../../requests/list-filters.ts'
import { parseFilteredQuery } from '../../requests/list-query.ts'
import { jsonType, showJson } from '../../responses/answer.ts'
import { showPage } from '../../responses/page-answer.ts'
import { deliveryFilters } from '../webhook-deliveries-get.ts'

const knownFilters = { tenant: tenantFilter, ...deliveryFilters }

export const listDeliveriesEndpoint: AdminEndpoint = async (parts, request) => {
  const { page, filters } = parseFilteredQuery(request.query, parseDeliveryId, knownFilters)
  const { tenant, endpoint: endpointId, event: eventId, status } = filters
  const filter = { tenant, endpointId, eventId, status }
  const lookup = listDeliveriesOfTenants(parts.store.sql, filter, page)
  return showPage(await withinStoreTimeout(parts, lookup), presentForOperators)
}

export const getDeliveryEndpoint: AdminEndpoint = async (parts, request) => {
  const lookup = findRequestedDelivery(parts.store.sql, request)
  return showJson(presentForOperators(await withinStoreTimeout(parts, lookup)))
}

export const redeliverEndpoint = adminCommand({
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
    const body = JSON.stringify(presentForOperators(delivery))
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

/** Renders a delivery as its tenant sees it, with the tenant. */
function presentForOperators(delivery: WebhookDelivery): Record<string, unknown> {
  return { ...presentDelivery(delivery), tenant: showTenantId(delivery.tenantId) }
}
