// GET /v1/webhook-endpoints and GET /v1/webhook-endpoints/:id: list and return webhook endpoints.
import { listEndpoints, findEndpoint } from '../../db/webhooks/webhook-endpoints.ts'
import { parseEndpointId, presentEndpoint } from '../../domain/webhooks/webhook-endpoint.ts'
import type { TenantEndpoint } from '../endpoint.ts'
import { parseListQuery } from '../requests/list-query.ts'
import { showPage } from '../responses/page-answer.ts'
import { showJson } from '../responses/answer.ts'
import { endpointNotFound, requestedEndpointId } from './webhook-endpoints-find.ts'

export const listWebhookEndpoints: TenantEndpoint = async ({ store }, request, tenantId) => {
  const query = parseListQuery(request.query, parseEndpointId)
  return showPage(await listEndpoints(store.sql, tenantId, query), presentEndpoint)
}

export const getWebhookEndpoint: TenantEndpoint = async ({ store }, request, tenantId) => {
  const endpoint = await findEndpoint(store.sql, tenantId, requestedEndpointId(request))
  return showJson(presentEndpoint(endpoint ?? endpointNotFound()))
}
