// GET /v1/webhook-endpoints/:id
import { findEndpoint } from '../db/webhooks/webhook-endpoints.ts'
import { presentEndpoint } from '../domain/webhooks/webhook-endpoint.ts'
import { showJson } from './answer.ts'
import type { TenantEndpoint } from './endpoint.ts'
import { endpointNotFound, requestedEndpointId } from './requested-webhook-endpoint.ts'

export const getWebhookEndpoint: TenantEndpoint = async ({ store }, request, tenantId) => {
  const endpoint = await findEndpoint(store.sql, tenantId, requestedEndpointId(request))
  return showJson(presentEndpoint(endpoint ?? endpointNotFound()))
}
