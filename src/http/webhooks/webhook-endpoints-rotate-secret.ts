// POST /v1/webhook-endpoints/:id/rotate-secret: gives a webhook endpoint a new secret.
import { rotateSecret } from '../../db/webhooks/webhook-endpoints.ts'
import { resourceResponse } from '../../domain/operations/stored-response.ts'
import { endpointPath, presentEndpointWithSecret } from '../../domain/webhooks/webhook-endpoint.ts'
import { noFields } from '../requests/body-fields.ts'
import { keyedLocally } from '../keyed/keyed-locally.ts'
import { endpointNotFound, requestedEndpointId } from './webhook-endpoints-find.ts'
import { makeWebhookSecret } from './webhook-secret.ts'

export const rotateWebhookSecret = keyedLocally({
  operation: 'webhook_endpoint.rotate_secret',
  body: noFields,
  mayOmitBody: true,
  read: ({ request }) => requestedEndpointId(request),
  async work(tx, id, tenantId) {
    const secret = makeWebhookSecret()
    const endpoint = (await rotateSecret(tx, { tenantId, id }, secret)) ?? endpointNotFound()
    return resourceResponse(200, endpointPath(id), presentEndpointWithSecret(endpoint, secret))
  },
})
