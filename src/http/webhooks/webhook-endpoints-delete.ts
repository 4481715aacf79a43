// DELETE /v1/webhook-endpoints/:id: deletes a webhook endpoint.
import { deleteEndpoint } from '../../db/webhooks/webhook-endpoints.ts'
import { showEndpointId } from '../../domain/webhooks/webhook-endpoint.ts'
import { jsonType } from '../responses/answer.ts'
import { noFields } from '../requests/body-fields.ts'
import { keyedLocally } from '../keyed/keyed-locally.ts'
import { endpointNotFound, requestedEndpointId } from './webhook-endpoints-find.ts'

export const deleteWebhookEndpoint = keyedLocally({
  operation: 'webhook_endpoint.delete',
  body: noFields,
  mayOmitBody: true,
  read: ({ request }) => requestedEndpointId(request),
  async work(tx, id, tenantId) {
    if (!(await deleteEndpoint(tx, { tenantId, id }))) endpointNotFound()
    const tombstone = { id: showEndpointId(id), object: 'webhook_endpoint', deleted: true }
    return { status: 200, headers: jsonType, body: JSON.stringify(tombstone) }
  },
})
