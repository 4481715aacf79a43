// The contracts of the endpoints that belong to no resource: idempotency keys, the provider's events, health
// and the documents about the API.
import { z } from 'zod'
import { flavors } from '../../domain/problems/flavor.ts'
import { anyMembers } from '../schemas/fields.ts'
import { idempotencyKeySchema } from '../schemas/idempotency-key.ts'
import { problemPageSchema } from '../schemas/problem.ts'
import type { Contracts } from './contract.ts'

const idempotencyPolicySchema = z
  .looseObject({
    flavor: z.enum(flavors),
    key: anyMembers,
    scope: z.string(),
    retention_seconds: z.int(),
    answers: anyMembers,
  })
  .meta({ id: 'IdempotencyPolicy' })

export const keyContracts: Contracts = {
  'GET /v1/idempotency-keys/:key': {
    operationId: 'getIdempotencyKey',
    tag: 'Idempotency keys',
    summary: 'Read what a key was used for',
    path: z.object({
      key: z.string().meta({ description: 'The key, without quotes.', examples: ['order-1042'] }),
    }),
    answers: {
      200: {
        description: 'The key.',
        schema: idempotencyKeySchema,
        headers: ['Idempotency-Key-Expired', 'Idempotency-Earlier-Resource'],
      },
    },
    problems: ['idempotency-key-expired'],
  },
  'GET /.well-known/idempotency-policy': {
    operationId: 'getIdempotencyPolicy',
    tag: 'Idempotency keys',
    summary: 'Read what can be relied on of keys, for machines',
    answers: { 200: { description: 'The policy.', schema: idempotencyPolicySchema } },
  },
}

const health = z.object({ status: z.literal('ok') }).meta({ id: 'Health' })

const readiness = z
  .object({
    status: z.enum(['ok', 'unavailable']),
    checks: z.object({
      database: z.enum(['ok', 'unreachable']),
      migrations: z.enum(['ok', 'behind', 'unknown']),
    }),
  })
  .meta({ id: 'Readiness' })

const html = ['text/html']

export const serviceContracts: Contracts = {
  'POST /provider/webhooks': {
    operationId: 'receiveProviderEvent',
    tag: 'Provider',
    summary: "Take in an event of the provider's",
    description:
      'Whoever can sign an event may send it. It is kept, and answered before it is applied. The path is not there without a secret in the settings.',
    headers: z.object({
      'Stripe-Signature': z
        .string()
        .meta({ description: 'https://docs.stripe.com/webhooks#verify-manually' }),
    }),
    body: { schema: anyMembers, example: { id: 'evt_1', object: 'event' } },
    answers: {
      200: {
        description: 'It is kept, or was before.',
        schema: z.object({ received: z.literal(true) }).meta({ id: 'Received' }),
      },
    },
    problems: [
      'webhook-signature-invalid',
      'webhook-too-old',
      'webhook-malformed',
      'route-not-found',
      'malformed-json',
      'body-too-large',
      'unsupported-content-type',
      'unsupported-content-encoding',
      'store-unavailable',
    ],
  },
  'GET /healthz': {
    operationId: 'getHealth',
    tag: 'Service',
    summary: 'Whether the process answers',
    answers: { 200: { description: 'It does.', schema: health } },
  },
  'GET /readyz': {
    operationId: 'getReadiness',
    tag: 'Service',
    summary: 'Whether the database can be reached and has the schema of this version',
    answers: {
      200: { description: 'It can be, and has.', schema: readiness },
      503: { description: 'Not now.', schema: readiness, headers: ['Retry-After'] },
    },
  },
  'GET /openapi.yaml': {
    operationId: 'getOpenapi',
    tag: 'Service',
    summary: 'This document',
    answers: { 200: { description: 'The document.', texts: ['application/yaml'] } },
  },
  'GET /docs': {
    operationId: 'getDocs',
    tag: 'Service',
    summary: 'This document as a page',
    answers: { 200: { description: 'The page.', texts: html } },
  },
  'GET /docs/:file': {
    operationId: 'getDocsFile',
    tag: 'Service',
    summary: 'A file that the page needs',
    path: z.object({ file: z.string().meta({ examples: ['swagger-ui.css'] }) }),
    answers: { 200: { description: 'The file.', texts: ['text/css', 'text/javascript'] } },
  },
  'GET /problems/:type': {
    operationId: 'getProblem',
    tag: 'Service',
    summary: 'What a problem means, and what to do',
    description: 'Every `type` of a problem leads here: a page for browsers, JSON for the others.',
    path: z.object({ type: z.string().meta({ examples: ['payment-declined'] }) }),
    answers: {
      200: { description: 'What it means.', schema: problemPageSchema, texts: html },
    },
  },
}
