// POST /v1/webhook-deliveries/:id/redeliver: makes a delivery pending again.
import { findDelivery, redeliverIfEnabled } from '../../db/webhooks/webhook-deliveries.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { resourceResponse } from '../../domain/operations/stored-response.ts'
import {
  deliveryPath,
  parseDeliveryId,
  presentDelivery,
} from '../../domain/webhooks/webhook-delivery.ts'
import { noFields } from '../requests/body-fields.ts'
import { keyedLocally } from '../keyed/keyed-locally.ts'

export const redeliverWebhook = keyedLocally({
  operation: 'webhook_delivery.redeliver',
  body: noFields,
  mayOmitBody: true,
  read({ request }) {
    const id = parseDeliveryId(String(request.params['id']))
    if (id === undefined) throw new ProblemError('resource-not-found')
    return id
  },
  // The 202 is a final response: this operation only makes the delivery pending again.
  async work(tx, id, tenantId) {
    const enabled = await redeliverIfEnabled(tx, { tenantId, id })
    const delivery = await findDelivery(tx, tenantId, id)
    if (delivery === undefined) throw new ProblemError('resource-not-found')
    if (!enabled) throw new ProblemError('webhook-endpoint-disabled')
    return resourceResponse(202, deliveryPath(id), presentDelivery(delivery))
  },
})
