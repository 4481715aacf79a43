// Contracts of the endpoints that belong to no resource: provider events, health checks and
// documentation.
import { z } from 'zod'
import type { ProblemType } from '../../domain/problems/problems.ts'
import { anyMembers } from '../contracts/fields.ts'
import { problemPageSchema } from '../contracts/problem-schema.ts'
import { unchanged, type Contracts } from '../contracts/contract.ts'

const health = z.object({ status: z.literal('ok') }).meta({ id: 'Health' })

const readiness = z
  .object({
    status: z
      .enum(['ok', 'unavailable'])
      .meta({ description: 'Whether the process accepts traffic.' }),
    checks: z.object({
      database: z.enum(['ok', 'unreachable', 'unusable', 'read_only']).meta({
        description:
          'Whether the database can be reached. `unusable`: a pooler refuses transactions, or a session cannot have the role of the service. `read_only`: nothing can be written, because the disk is full or the server refuses writes.',
      }),
      migrations: z.enum(['ok', 'behind', 'unknown']).meta({
        description: 'Whether the database has the schema that this version needs.',
      }),
    }),
    reason: z
      .string()
      .meta({ description: 'What to do, when the database is `unusable`.' })
      .optional(),
  })
  .meta({ id: 'Readiness' })

const html = ['text/html']

const documentAnswer = {
  description: 'The OpenAPI document.',
  texts: ['application/yaml'],
  headers: ['ETag'],
} as const

const received = {
  description: 'The event is stored, or was stored before.',
  schema: z.object({ received: z.literal(true) }).meta({ id: 'Received' }),
}

const eventProblems = [
  'webhook-signature-invalid',
  'webhook-malformed',
  'route-not-found',
  'body-too-large',
  'unsupported-content-type',
  'unsupported-content-encoding',
  'store-unavailable',
] as const satisfies readonly ProblemType[]

export const serviceContracts: Contracts = {
  'POST /provider/webhooks': {
    operationId: 'receiveProviderEvent',
    tag: 'Provider',
    summary: 'Receive an event of Stripe',
    description:
      'Receives a webhook of Stripe. The signature authenticates the sender. The event is stored and acknowledged first, and applied afterwards. The endpoint exists only when the service is configured with the secret of the webhook.',
    headers: z.object({
      'Stripe-Signature': z.string().meta({
        description:
          'The time and the signature of the event; see https://docs.stripe.com/webhooks#verify-manually.',
      }),
    }),
    body: { schema: anyMembers, example: { id: 'evt_1', object: 'event' } },
    answers: { 200: received },
    problems: [...eventProblems, 'webhook-too-old', 'malformed-json'],
  },
  'POST /provider/webhooks/braintree': {
    operationId: 'receiveBraintreeEvent',
    tag: 'Provider',
    summary: 'Receive an event of Braintree',
    description:
      'Receives a webhook of Braintree. The signature in the form authenticates the sender. The event is stored and acknowledged first, and applied afterwards. The endpoint exists only when the service has the keys of Braintree.',
    body: {
      contentType: 'application/x-www-form-urlencoded',
      schema: z.object({
        bt_signature: z.string().meta({ description: 'The signature of the payload.' }),
        bt_payload: z.string().meta({ description: 'The event.' }),
      }),
      example: { bt_signature: 'public_key|signature', bt_payload: 'PG5vdGlm...' },
    },
    answers: { 200: received },
    problems: [...eventProblems, 'webhook-too-old'],
  },
  'GET /': {
    operationId: 'getStart',
    tag: 'Service',
    summary: 'Find the pages of the service',
    description:
      'Returns an HTML page for browsers with links to the console and to this document. Other clients get the problem of a path that does not exist.',
    answers: { 200: { description: 'The page.', texts: html } },
    problems: ['route-not-found'],
  },
  'GET /healthz': {
    operationId: 'getHealth',
    tag: 'Health',
    summary: 'Check health',
    description: 'Answers as long as the process is running. It does not check the database.',
    answers: { 200: { description: 'The process is running.', schema: health } },
  },
  'GET /readyz': {
    operationId: 'getReadiness',
    tag: 'Health',
    summary: 'Check readiness',
    description:
      'Reports whether the process should receive traffic: the database can be reached over sessions of its own, it has the schema of this version and accepts writes, and the process is not shutting down.',
    answers: {
      200: { description: 'The process is ready.', schema: readiness },
      503: {
        description: 'The process is not ready.',
        schema: readiness,
        headers: ['Retry-After'],
      },
    },
  },
  'GET /openapi.yaml': {
    operationId: 'getOpenapi',
    tag: 'Service',
    summary: 'Retrieve this document',
    answers: { 200: documentAnswer, 304: unchanged },
  },
  'GET /openapi-operators.yaml': {
    operationId: 'getOperatorsOpenapi',
    tag: 'Operators',
    summary: 'Retrieve this document',
    answers: { 200: documentAnswer, 304: unchanged },
  },
  'GET /docs': {
    operationId: 'getDocs',
    tag: 'Service',
    summary: 'Browse this document',
    description: 'Returns an HTML page that lists the operations, with a link to the page of each.',
    answers: { 200: { description: 'The page.', texts: html, headers: ['ETag'] }, 304: unchanged },
  },
  'GET /docs/:page': {
    operationId: 'getDocsPage',
    tag: 'Service',
    summary: 'Browse one operation',
    description: 'Returns the page of an operation, or the style sheet of the pages.',
    path: z.object({
      page: z.string().meta({
        description: 'The `operationId` of the operation; `operators` for the list of theirs.',
        examples: ['createPayment'],
      }),
    }),
    answers: {
      200: { description: 'The page.', texts: ['text/css', ...html], headers: ['ETag'] },
      304: unchanged,
    },
  },
  'GET /problems/:type': {
    operationId: 'getProblem',
    tag: 'Service',
    summary: 'Retrieve a problem type',
    description:
      'Explains a problem: what happened, and what to do next. The `type` of every problem is the path of this endpoint. Browsers get an HTML page, other clients get JSON.',
    path: z.object({
      type: z
        .string()
        .meta({ description: 'The name of the problem type.', examples: ['payment-declined'] }),
    }),
    answers: {
      200: {
        description: 'The explanation of the problem type.',
        schema: problemPageSchema,
        texts: html,
      },
    },
  },
}
