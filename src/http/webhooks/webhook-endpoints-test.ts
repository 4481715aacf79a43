// POST /v1/webhook-endpoints/:id/test: sends a test event to a webhook endpoint.
import { findDelivery } from '../../db/webhooks/webhook-deliveries.ts'
import { findEndpoint, insertTestEvent } from '../../db/webhooks/webhook-endpoints.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { resourceResponse } from '../../domain/operations/stored-response.ts'
import { deliveryPath, presentDelivery } from '../../domain/webhooks/webhook-delivery.ts'
import { noFields } from '../requests/body-fields.ts'
import { keyedLocally } from '../keyed/keyed-locally.ts'
import { endpointNotFound, requestedEndpointId } from './webhook-endpoints-find.ts'

export const testWebhookEndpoint = keyedLocally({
  operation: 'webhook_endpoint.test',
  body: noFields,
  mayOmitBody: true,
  read: ({ request }) => requestedEndpointId(request),
  async work(tx, id, tenantId) {
    const endpoint = (await findEndpoint(tx, tenantId, id)) ?? endpointNotFound()
    const deliveryId = await insertTestEvent(tx, endpoint)
    const delivery = deliveryId && (await findDelivery(tx, tenantId, deliveryId))
    if (!delivery) throw new ProblemError('webhook-endpoint-disabled')
    return resourceResponse(202, deliveryPath(delivery.id), presentDelivery(delivery))
  },
})
