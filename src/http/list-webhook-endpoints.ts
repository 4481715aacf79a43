// GET /v1/webhook-endpoints
import { listEndpoints } from '../db/webhooks/webhook-endpoints.ts'
import { parseEndpointId, presentEndpoint } from '../domain/webhooks/webhook-endpoint.ts'
import type { TenantEndpoint } from './endpoint.ts'
import { parseListQuery } from './list-query.ts'
import { showPage } from './show-page.ts'

export const listWebhookEndpoints: TenantEndpoint = async ({ store }, request, tenantId) => {
  const query = parseListQuery(request.query, parseEndpointId)
  return showPage(await listEndpoints(store.sql, tenantId, query), presentEndpoint)
}
