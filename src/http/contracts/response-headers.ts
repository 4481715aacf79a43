// Describes, for openapi.yaml, every response header that the service itself sets.
import { EXAMPLE_KEY } from './fields.ts'
import { z } from 'zod'

export interface HeaderDescription {
  readonly description: string
  /** By default any text. */
  readonly schema?: z.ZodType
  readonly example: string
}

const httpDate = 'Wed, 31 Jan 2026 12:00:00 GMT'

export const responseHeaders = {
  'Request-Id': {
    description:
      'A unique id of the request. Quote it when you report a problem: it is in the logs of the service.',
    example: 'req_4f1c1f0e-6f3b-4a55-9a40-0f6f5d6f7a10',
  },
  Location: {
    description: 'The path of the resource.',
    example: '/v1/payments/pay_01k9zq4s5tfexbgc1m6v8w2d3h',
  },
  'Set-Cookie': {
    description:
      'The cookie of a session. By https it is `Secure` and its name begins with `__Host-`.',
    example: 'atomic_console=3w...; Path=/; HttpOnly; SameSite=Strict',
  },
  ETag: {
    description: 'The version of the file, for `If-None-Match`.',
    example: 'W/"1bz0Jk..."',
  },
  'X-Accel-Buffering': {
    description: 'Tells nginx to pass events on at once.',
    schema: z.literal('no'),
    example: 'no',
  },
  'Retry-After': {
    description:
      'The number of seconds to wait before sending the same request again: until what it waits for is due, such as the next try, the next lookup of an unknown outcome, or the next window of a limit. It includes a jitter, and has no upper bound.',
    schema: z.string().regex(/^\d+$/),
    example: '1',
  },
  'Idempotent-Replayed': {
    description:
      'Present when this is the stored response of an earlier request with the same idempotency key.',
    schema: z.literal('true'),
    example: 'true',
  },
  'Idempotency-Key-Expires': {
    description:
      'Present when the request was compared with the stored key: when that key expires. Until then, a retry with the key is answered with the stored response.',
    example: httpDate,
  },
  'Idempotency-Key-Expired': {
    description: 'Present when an earlier use of the idempotency key has expired: when it expired.',
    example: httpDate,
  },
  'Idempotency-Earlier-Resource': {
    description:
      'The path of the resource that the idempotency key was used for before it expired.',
    example: '/v1/payments/pay_01k9zq4s5tfexbgc1m6v8w2d3h',
  },
  'Repeatability-Result': {
    description:
      'Present on an answer to a request with a Repeatability-Request-ID. `accepted`: the key is reserved for this request, which is executed once. `rejected`: this request executed nothing.',
    schema: z.enum(['accepted', 'rejected']),
    example: 'accepted',
  },
  'Preference-Applied': {
    description: 'The preferences of the Prefer header that were applied (RFC 7240, section 3).',
    example: 'respond-async, wait=5',
  },
  'RateLimit-Policy': {
    description:
      'The rate limit of the tenant: the number of requests (`q`) per window in seconds (`w`), as in draft-ietf-httpapi-ratelimit-headers.',
    example: '"requests";q=100;w=1',
  },
  RateLimit: {
    description:
      'The number of requests that are left in the current window (`r`), and the number of seconds until the next window begins (`t`).',
    example: '"requests";r=42;t=1',
  },
  'WWW-Authenticate': {
    description: 'How to authenticate (RFC 9110, section 11.6.1).',
    example: 'Bearer realm="atomic-payments"',
  },
  'Idempotency-Key': {
    description:
      'The idempotency key of the request, as it was sent. Present only with `IDEMPOTENCY_FLAVOR=stripe` or `acp`, once the key is reserved.',
    example: EXAMPLE_KEY,
  },
  'Stripe-Should-Retry': {
    description:
      'Tells the SDKs of Stripe whether to retry. Present only with `IDEMPOTENCY_FLAVOR=stripe`, and `false` on answers that are no problem.',
    schema: z.enum(['true', 'false']),
    example: 'false',
  },
  Link: {
    description: 'A link to the policy on idempotency keys (RFC 8288).',
    example: '</.well-known/idempotency-policy>; rel="describedby"',
  },
} satisfies Record<string, HeaderDescription>

export type ResponseHeader = keyof typeof responseHeaders

/** On answers about a key that has an expired use, too. */
export const EARLIER_USE_HEADERS = [
  'Idempotency-Key-Expired',
  'Idempotency-Earlier-Resource',
] as const satisfies readonly ResponseHeader[]
