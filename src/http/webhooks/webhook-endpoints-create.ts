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
  wantedEventTypes,
} from '../../domain/webhooks/webhook-endpoint.ts'
import { checkWebhookUrl } from '../../domain/webhooks/webhook-url.ts'
import { textField } from '../requests/body-fields.ts'
import type { ApiParts } from '../endpoint.ts'
import { keyedLocally } from '../keyed/keyed-locally.ts'
import { validateBody } from '../requests/validate-body.ts'
import { makeWebhookSecret } from './webhook-secret.ts'

const URL_LENGTH_MAX = 2048

export const createWebhookEndpointBody = z.strictObject({
  url: z
    .string()
    .min(1)
    .max(URL_LENGTH_MAX)
    .meta({
      description:
        'The URL to send events to. It must use https and resolve to an address on the public internet.',
      examples: ['https://merchant.example/webhooks'],
    }),
  event_types: z
    .array(z.enum(wantedEventTypes))
    .min(1)
    .max(wantedEventTypes.length)
    .refine((types) => new Set(types).size === types.length, { error: 'A type is repeated' })
    .default([EVERY_EVENT])
    .meta({
      description:
        'The types of events to send. The default, `*`, stands for every type, including types of later versions.',
    }),
  description: textField({ max: 1000 }).nullish().meta({ description: 'Free text, for people.' }),
})

export const createWebhookEndpoint = keyedLocally({
  operation: 'webhook_endpoint.create',
  read({ parts, body }) {
    const valid = validateBody(createWebhookEndpointBody, body)
    refuseBadUrl(parts, valid.url)
    return valid
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

function refuseBadUrl({ settings }: ApiParts, url: string): void {
  const checked = checkWebhookUrl(url, { allowInsecure: settings.WEBHOOK_ALLOW_INSECURE })
  if ('url' in checked) return
  const errors = [{ pointer: '/url', detail: checked.refusal }]
  throw new ProblemError('webhook-url-refused', { detail: checked.refusal, errors })
}
