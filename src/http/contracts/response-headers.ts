// Every header of ours that an answer may have, as openapi.yaml describes it.
import { z } from 'zod'

interface HeaderDescription {
  readonly description: string
  readonly schema: z.ZodType
  readonly example: string | number
}

const httpDate = 'Wed, 31 Jan 2026 12:00:00 GMT'

export const responseHeaders = {
  'Request-Id': {
    description: 'Names the request in the log of the service.',
    schema: z.string(),
    example: 'req_4f1c1f0e-6f3b-4a55-9a40-0f6f5d6f7a10',
  },
  Location: {
    description: 'Where the resource can be read.',
    schema: z.string(),
    example: '/v1/payments/pay_01k9zq4s5tfexbgc1m6v8w2d3h',
  },
  'Retry-After': {
    description: 'Seconds after which the same request may be sent again.',
    schema: z.string().regex(/^\d+$/),
    example: '1',
  },
  'Idempotent-Replayed': {
    description: 'There when this is the stored response of an earlier request with the same key.',
    schema: z.literal('true'),
    example: 'true',
  },
  'Idempotency-Key-Expires': {
    description: 'When the key may be forgotten.',
    schema: z.string(),
    example: httpDate,
  },
  'Idempotency-Key-Expired': {
    description: 'There when the key had been used before and was forgotten: since when.',
    schema: z.string(),
    example: httpDate,
  },
  'Idempotency-Earlier-Resource': {
    description: 'Where the resource is that the key was used for before it was forgotten.',
    schema: z.string(),
    example: '/v1/payments/pay_01k9zq4s5tfexbgc1m6v8w2d3h',
  },
  'Preference-Applied': {
    description: 'Which of the preferences in Prefer were followed (RFC 7240 section 3).',
    schema: z.string(),
    example: 'respond-async, wait=5',
  },
  'RateLimit-Policy': {
    description:
      'The limit on requests, and its window in seconds (draft-ietf-httpapi-ratelimit-headers).',
    schema: z.string(),
    example: '"requests";q=100;w=1',
  },
  RateLimit: {
    description: 'How many requests are left (r), and after how many seconds there are more (t).',
    schema: z.string(),
    example: '"requests";r=42;t=1',
  },
  'WWW-Authenticate': {
    description: 'How to authenticate (RFC 9110 section 11.6.1).',
    schema: z.string(),
    example: 'Bearer realm="atomic-payments"',
  },
  'Idempotency-Key': {
    description:
      'The key as it was sent, once it is reserved. There by `IDEMPOTENCY_FLAVOR=stripe` alone.',
    schema: z.string(),
    example: 'order-1042',
  },
  'Stripe-Should-Retry': {
    description:
      'Whether the SDKs of Stripe should retry. There by `IDEMPOTENCY_FLAVOR=stripe` alone.',
    schema: z.enum(['true', 'false']),
    example: 'false',
  },
  Link: {
    description: 'Where the policy on idempotency keys is described (RFC 8288).',
    schema: z.string(),
    example: '</.well-known/idempotency-policy>; rel="describedby"',
  },
} as const satisfies Record<string, HeaderDescription>

export type ResponseHeader = keyof typeof responseHeaders
