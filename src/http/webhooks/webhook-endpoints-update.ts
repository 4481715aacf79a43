// POST /v1/webhook-endpoints/:id: changes a webhook endpoint, disables it, or enables it again.
import { z } from 'zod'
import { updateEndpoint } from '../../db/webhooks/webhook-endpoints.ts'
import { resourceResponse } from '../../domain/operations/stored-response.ts'
import { endpointPath, presentEndpoint } from '../../domain/webhooks/webhook-endpoint.ts'
import { keyedLocally } from '../keyed/keyed-locally.ts'
import {
  aboutDescription,
  descriptionField,
  eventTypesField,
  refuseBadUrl,
  urlField,
} from './webhook-endpoint-fields.ts'
import { endpointNotFound, requestedEndpointId } from './webhook-endpoints-find.ts'

export const updateWebhookEndpointBody = z.strictObject({
  url: urlField.optional(),
  event_types: eventTypesField.optional().meta({
    description:
      'The types of events to send. They replace the previous ones. `*` stands for every type, including types of later versions.',
  }),
  // Null deletes the description, so it is not the same as absent.
  description: descriptionField.nullish().meta(aboutDescription),
  disabled: z.boolean().optional().meta({
    description:
      'Whether the endpoint is disabled. No events are sent to a disabled endpoint, and deliveries that wait for it fail when their next attempt is due.',
  }),
})

export const updateWebhookEndpoint = keyedLocally({
  operation: 'webhook_endpoint.update',
  body: updateWebhookEndpointBody,
  read({ parts, request, body: { event_types: eventTypes, ...fields } }) {
    if (fields.url !== undefined) refuseBadUrl(parts, fields.url)
    return { id: requestedEndpointId(request), changes: { ...fields, eventTypes } }
  },
  async work(tx, { id, changes }, tenantId) {
    const endpoint = (await updateEndpoint(tx, { tenantId, id }, changes)) ?? endpointNotFound()
    return resourceResponse(200, endpointPath(id), presentEndpoint(endpoint))
  },
})
