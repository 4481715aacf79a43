// GET /v1/webhook-deliveries/:id
import { findDelivery } from '../db/webhooks/webhook-deliveries.ts'
import { ProblemError } from '../domain/problems/problem-error.ts'
import { parseDeliveryId, presentDelivery } from '../domain/webhooks/webhook-delivery.ts'
import { showJson } from './answer.ts'
import type { TenantEndpoint } from './endpoint.ts'

export const getWebhookDelivery: TenantEndpoint = async ({ store }, request, tenantId) => {
  const id = parseDeliveryId(String(request.params['id']))
  const delivery = id === undefined ? undefined : await findDelivery(store.sql, tenantId, id)
  if (delivery === undefined) throw new ProblemError('resource-not-found')
  return showJson(presentDelivery(delivery))
}
