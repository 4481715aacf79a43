// The contracts of the endpoints that belong to no resource: the provider's events, health and the documents
// about the API.
import { z } from 'zod'
import { anyMembers } from '../contracts/fields.ts'
import { problemPageSchema } from '../contracts/problem-schema.ts'
import type { Contracts } from '../contracts/contract.ts'

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
