// DELETE /v1/webhook-endpoints/:id
import { deleteEndpoint } from '../db/webhooks/webhook-endpoints.ts'
import { showEndpointId } from '../domain/webhooks/webhook-endpoint.ts'
import { jsonType } from './answer.ts'
import { noFields } from './body-fields.ts'
import { keyedLocally } from './keyed-locally.ts'
import { endpointNotFound, requestedEndpointId } from './requested-webhook-endpoint.ts'
import { validateBody } from './validate-body.ts'

export const deleteWebhookEndpoint = keyedLocally({
  operation: 'webhook_endpoint.delete',
  mayOmitBody: true,
  read(_parts, { request, body }) {
    validateBody(noFields, body)
    return requestedEndpointId(request)
  },
  async work(tx, id, tenantId) {
    if (!(await deleteEndpoint(tx, { tenantId, id }))) endpointNotFound()
    const shown = { id: showEndpointId(id), object: 'webhook_endpoint', deleted: true }
    return { status: 200, headers: jsonType, body: JSON.stringify(shown) }
  },
})
