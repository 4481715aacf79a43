// The endpoints below /v1/webhook-endpoints: create, list, return, change and delete webhook endpoints.
import { z } from 'zod'
import {
  disabledReasons,
  wantedEventTypes,
  ENDPOINTS_MAX,
  endpointPath,
  type WebhookEndpoint,
} from '../../domain/webhooks/webhook-endpoint.ts'
import { EVERY_EVENT } from '../../domain/events/event-types.ts'
import {
  EXAMPLE_TIME,
  exampleId,
  idField,
  timeField,
  idempotencyField,
  render,
} from '../contracts/fields.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { checkWebhookUrl } from '../../domain/webhooks/dialable-address.ts'
import type { ServiceParts } from '../endpoint.ts'
import { textField, optionalField, noBody } from '../requests/validate-body.ts'
import { randomBytes, randomUUIDv7 } from 'node:crypto'
import {
  listEndpoints,
  findEndpoint,
  insertEndpoint,
  updateEndpoint,
  deleteEndpoint,
  rotateSecret,
} from '../../db/webhooks/webhook-endpoints.ts'
import { jsonType } from '../responses/answer.ts'
import { resourceResponse } from '../../domain/operations/stored-response.ts'
import { keyedLocally } from '../keyed/keyed-locally.ts'
import type { Endpoints } from '../contracts/contract.ts'
import {
  notFound,
  pathOf,
  readOne,
  readList,
  requestedId,
  type Resource,
} from '../contracts/reads.ts'

const exampleEndpoint = {
  id: exampleId('we'),
  object: 'webhook_endpoint',
  url: 'https://merchant.example/webhooks',
  description: null,
  event_types: ['payment.succeeded'],
  status: 'enabled',
  disabled_reason: null,
  paused_until: null,
  created_at: EXAMPLE_TIME,
}

const wantedEventType = z.enum(wantedEventTypes).meta({ id: 'WantedEventType' })

const endpointShape = z.object({
  id: idField('we', 'The id of the webhook endpoint.'),
  object: z.literal('webhook_endpoint'),
  url: z.string().meta({ description: 'The URL that events are sent to.' }),
  description: z.string().nullable().meta({ description: 'Free text, for people.' }),
  event_types: z
    .array(wantedEventType)
    .meta({ description: 'The types of events that are sent. `*` stands for every type.' }),
  status: z
    .enum(['enabled', 'disabled'])
    .meta({ description: 'The status of the endpoint. No events are sent to a disabled one.' }),
  disabled_reason: z.enum(disabledReasons).nullable().meta({
    description:
      'Why the endpoint is disabled. `gone`: the endpoint answered with status 410. `failing`: every attempt has failed for a long time. `requested`: you disabled it.',
  }),
  paused_until: timeField(
    'Until when the service leaves the endpoint alone after repeated failures. Its deliveries wait, and use up no attempts. Null when attempts are made.',
  ).nullable(),
  created_at: timeField('When the webhook endpoint was created.'),
  idempotency: idempotencyField,
})

export const webhookEndpointSchema = endpointShape.meta({
  id: 'WebhookEndpoint',
  examples: [exampleEndpoint],
})

const webhookEndpointWithSecretSchema = endpointShape
  .extend({
    secret: z
      .string()
      .regex(/^whsec_/)
      .meta({
        description:
          'The secret that signs the webhooks to this endpoint, in the format of Standard Webhooks. It is returned only in this response.',
      }),
  })
  .meta({
    id: 'WebhookEndpointWithSecret',
    examples: [{ ...exampleEndpoint, secret: 'whsec_c2VjcmV0LW9mLXRoZS1lbmRwb2ludC0tLS0tLS0=' }],
  })

const deletedWebhookEndpointSchema = z
  .object({
    id: idField('we', 'The id of the deleted webhook endpoint.'),
    object: z.literal('webhook_endpoint'),
    deleted: z.literal(true),
    idempotency: idempotencyField,
  })
  .meta({ id: 'DeletedWebhookEndpoint' })

const URL_LENGTH_MAX = 2048

const urlField = z.string().min(1).max(URL_LENGTH_MAX).meta({
  description:
    'The URL to send events to. It must use https and resolve to an address on the public internet.',
})

const eventTypesField = z
  .array(wantedEventType)
  .min(1)
  .max(wantedEventTypes.length)
  .refine((types) => new Set(types).size === types.length, { error: 'A type is repeated' })

const descriptionField = textField({ max: 1000 })

const aboutDescription = { description: 'Free text, for people.' }

/** @throws ProblemError webhook-url-refused. */
function refuseBadUrl({ settings }: ServiceParts, url: string): void {
  const checked = checkWebhookUrl(url, { allowInsecure: settings.WEBHOOK_ALLOW_INSECURE })
  if ('url' in checked) return
  const errors = [{ pointer: '/url', detail: checked.refusal }]
  throw new ProblemError('webhook-url-refused', { detail: checked.refusal, errors })
}

/** Standard Webhooks requires 24 to 64 bytes. 32 is the length of an HMAC-SHA256 digest. */
const SECRET_BYTES = 32

function makeWebhookSecret(): string {
  return `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`
}

export const createWebhookEndpointBody = z.strictObject({
  url: urlField,
  event_types: eventTypesField.default([EVERY_EVENT]).meta({
    description:
      'The types of events to send. The default, `*`, stands for every type, including types of later versions.',
  }),
  description: optionalField(descriptionField).meta(aboutDescription),
})

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

export const ownEndpoint: Resource<WebhookEndpoint> = {
  prefix: 'we',
  schema: webhookEndpointSchema,
  idInPath: 'The id of the webhook endpoint.',
  find: (sql, id, tenantId) => findEndpoint(sql, tenantId, id),
}

export const changesOfWebhooks = { tag: 'Webhooks', scope: 'webhooks:write' } as const

export const webhookEndpoints: Endpoints = {
  'POST /v1/webhook-endpoints': keyedLocally({
    operation: 'webhook_endpoint.create',
    operationId: 'createWebhookEndpoint',
    ...changesOfWebhooks,
    summary: 'Create a webhook endpoint',
    description:
      'Creates a webhook endpoint: from now on, the service sends the chosen events to its URL. Store the secret of the response to verify the signatures of webhooks; it cannot be retrieved later.',
    body: {
      schema: createWebhookEndpointBody.meta({ id: 'CreateWebhookEndpoint' }),
      example: { url: 'https://merchant.example/webhooks', event_types: ['payment.succeeded'] },
    },
    answers: {
      201: {
        description: 'The webhook endpoint, with its secret.',
        schema: webhookEndpointWithSecretSchema,
        headers: ['Location'],
      },
    },
    problems: ['too-many-webhook-endpoints', 'webhook-url-refused'],
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
      const shown = render(webhookEndpointWithSecretSchema, { ...endpoint, secret })
      return resourceResponse(201, endpointPath(endpoint.id), shown)
    },
  }),
  'GET /v1/webhook-endpoints': readList({
    operationId: 'listWebhookEndpoints',
    summary: 'List webhook endpoints',
    description: 'Returns your webhook endpoints, newest first.',
    of: ownEndpoint,
    tag: 'Webhooks',
    scope: 'webhooks:read',
    read: ({ store }, page, _filters, { reader }) => listEndpoints(store.sql, reader, page),
    answer: 'A page of webhook endpoints.',
  }),
  'GET /v1/webhook-endpoints/:id': readOne({
    operationId: 'getWebhookEndpoint',
    summary: 'Retrieve a webhook endpoint',
    description: 'Returns a webhook endpoint, without its secret.',
    of: ownEndpoint,
    tag: 'Webhooks',
    scope: 'webhooks:read',
    answer: 'The webhook endpoint.',
  }),
  'POST /v1/webhook-endpoints/:id': keyedLocally({
    operation: 'webhook_endpoint.update',
    operationId: 'updateWebhookEndpoint',
    ...changesOfWebhooks,
    summary: 'Update a webhook endpoint',
    description:
      'Changes the fields that the request names, and keeps the others. With `disabled`, it disables the endpoint or enables it again. Waiting deliveries are sent to the new URL. The secret stays the same.',
    ...pathOf(ownEndpoint),
    body: {
      schema: updateWebhookEndpointBody.meta({ id: 'UpdateWebhookEndpoint' }),
      example: { disabled: true },
    },
    answers: {
      200: {
        description: 'The webhook endpoint, without its secret.',
        schema: webhookEndpointSchema,
        headers: ['Location'],
        example: { ...exampleEndpoint, status: 'disabled', disabled_reason: 'requested' },
      },
    },
    problems: ['webhook-url-refused'],
    read({ parts, request, body: { event_types: eventTypes, ...fields } }) {
      if (fields.url !== undefined) refuseBadUrl(parts, fields.url)
      return { id: requestedId(ownEndpoint, request), changes: { ...fields, eventTypes } }
    },
    async work(tx, { id, changes }, tenantId) {
      const endpoint = (await updateEndpoint(tx, { tenantId, id }, changes)) ?? notFound()
      return resourceResponse(200, endpointPath(id), render(webhookEndpointSchema, endpoint))
    },
  }),
  'DELETE /v1/webhook-endpoints/:id': keyedLocally({
    operation: 'webhook_endpoint.delete',
    operationId: 'deleteWebhookEndpoint',
    ...changesOfWebhooks,
    summary: 'Delete a webhook endpoint',
    description: 'Deletes a webhook endpoint. No more events are sent to its URL.',
    ...pathOf(ownEndpoint),
    body: noBody,
    answers: {
      200: {
        description: 'The webhook endpoint is deleted.',
        schema: deletedWebhookEndpointSchema,
      },
    },
    read: ({ request }) => requestedId(ownEndpoint, request),
    async work(tx, id, tenantId) {
      if (!(await deleteEndpoint(tx, { tenantId, id }))) notFound()
      const body = JSON.stringify(render(deletedWebhookEndpointSchema, { id }))
      return { status: 200, headers: jsonType, body }
    },
  }),
  'POST /v1/webhook-endpoints/:id/rotate-secret': keyedLocally({
    operation: 'webhook_endpoint.rotate_secret',
    operationId: 'rotateWebhookSecret',
    ...changesOfWebhooks,
    summary: 'Rotate the secret of a webhook endpoint',
    description:
      'Creates a new secret for a webhook endpoint. For 24 hours, webhooks are signed with both the old and the new secret, so that you can switch without losing events. After several rotations, the last three secrets that were replaced within 24 hours sign, too.',
    ...pathOf(ownEndpoint),
    body: noBody,
    answers: {
      200: {
        description: 'The webhook endpoint, with its new secret.',
        schema: webhookEndpointWithSecretSchema,
        headers: ['Location'],
      },
    },
    read: ({ request }) => requestedId(ownEndpoint, request),
    async work(tx, id, tenantId) {
      const secret = makeWebhookSecret()
      const endpoint = (await rotateSecret(tx, { tenantId, id }, secret)) ?? notFound()
      const shown = render(webhookEndpointWithSecretSchema, { ...endpoint, secret })
      return resourceResponse(200, endpointPath(id), shown)
    },
  }),
}
