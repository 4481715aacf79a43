// GET /v1/webhook-deliveries and GET /v1/webhook-deliveries/:id: list and return deliveries.
import { listDeliveries, findDelivery } from '../../db/webhooks/webhook-deliveries.ts'
import { parseEventId } from '../../domain/events/event.ts'
import {
  deliveryStatuses,
  parseDeliveryId,
  presentDelivery,
} from '../../domain/webhooks/webhook-delivery.ts'
import { parseEndpointId } from '../../domain/webhooks/webhook-endpoint.ts'
import type { TenantEndpoint } from '../endpoint.ts'
import { oneOfFilter } from '../requests/list-filters.ts'
import { parseFilteredQuery } from '../requests/list-query.ts'
import { showPage } from '../responses/page-answer.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { showJson } from '../responses/answer.ts'

export const deliveryFilters = {
  endpoint: { expected: 'the id of one webhook endpoint', parse: parseEndpointId },
  event: { expected: 'the id of one event', parse: parseEventId },
  status: oneOfFilter('pending, succeeded or failed', deliveryStatuses),
}

export const listWebhookDeliveries: TenantEndpoint = async ({ store }, request, tenantId) => {
  const { page, filters } = parseFilteredQuery(request.query, parseDeliveryId, deliveryFilters)
  const { endpoint: endpointId, event: eventId, status } = filters
  const filter = { endpointId, eventId, status }
  return showPage(await listDeliveries(store.sql, tenantId, filter, page), presentDelivery)
}

export const getWebhookDelivery: TenantEndpoint = async ({ store }, request, tenantId) => {
  const id = parseDeliveryId(String(request.params['id']))
  const delivery = id === undefined ? undefined : await findDelivery(store.sql, tenantId, id)
  if (delivery === undefined) throw new ProblemError('resource-not-found')
  return showJson(presentDelivery(delivery))
}
