// POST /v1/webhook-endpoints: creates a webhook endpoint with a secret.
import { randomUUIDv7 } from 'node:crypto'
import { z } from 'zod'
import { insertEndpoint } from '../../db/webhooks/webhook-endpoints.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { resourceResponse } from '../../domain/operations/stored-response.ts'
import {
  ENDPOINTS_MAX,
  endpointPath,
  EVERY_EVENT,
  presentEndpointWithSecret,
} from '../../domain/webhooks/webhook-endpoint.ts'
import { keyedLocally } from '../keyed/keyed-locally.ts'
import { optionalField } from '../requests/body-fields.ts'
import {
  aboutDescription,
  descriptionField,
  eventTypesField,
  refuseBadUrl,
  urlField,
} from './webhook-endpoint-fields.ts'
import { makeWebhookSecret } from './webhook-secret.ts'

export const createWebhookEndpointBody = z.strictObject({
  url: urlField,
  event_types: eventTypesField.default([EVERY_EVENT]).meta({
    description:
      'The types of events to send. The default, `*`, stands for every type, including types of later versions.',
  }),
  description: optionalField(descriptionField).meta(aboutDescription),
})

export const createWebhookEndpoint = keyedLocally({
  operation: 'webhook_endpoint.create',
  body: createWebhookEndpointBody,
  read({ parts, body }) {
    refuseBadUrl(parts, body.url)
    return body
  },
  // The stored response contains the secret. A client that lost the response gets it again by a
  // retry with the same idempotency key, until the key expires. There is no other way to get it.
  async work(tx, { url, event_types: eventTypes, description }, tenantId) {
    const secret = makeWebhookSecret()
    const endpoint = await insertEndpoint(tx, {
      tenantId,
      id: randomUUIDv7(),
      url,
      eventTypes,
      description: description ?? null,
      secret,
    })
    if (endpoint === undefined) {
      const detail = `You already have ${ENDPOINTS_MAX} webhook endpoints.`
      throw new ProblemError('too-many-webhook-endpoints', { detail })
    }
    return resourceResponse(
      201,
      endpointPath(endpoint.id),
      presentEndpointWithSecret(endpoint, secret),
    )
  },
})
