// Problem types of requests that are refused for how they arrive, not for what they ask: too many,
// too late, too slow, or not HTTP. problems.ts includes them in the full table.
import { invalid, tooMany, type ProblemDefinition } from './problem-definition.ts'

export const trafficProblems = {
  'malformed-request': invalid(
    400,
    'The request is not valid HTTP',
    'The request line, a header or the framing of the body violates HTTP, or the Host header is missing. The connection is closed. Nothing was executed.',
  ),
  'request-timestamp-missing': invalid(
    400,
    'Request-Timestamp is missing',
    'This service requires a Request-Timestamp header on every keyed request: `t=<unix seconds>,v1=<signature>`. Nothing was executed.',
  ),
  'request-timestamp-invalid': invalid(
    400,
    'Request-Timestamp is not valid',
    'The header is malformed, or its signature is not the HMAC-SHA-256 of `t.method.path.body` under the API key of the request. Nothing was executed.',
  ),
  'request-too-old': invalid(
    400,
    'The request is too old',
    'According to its Request-Timestamp the request was made too long ago, or in the future. Nothing was executed, and the idempotency key is not used up. Sign the request again and send it with the same key.',
  ),
  'request-timeout': invalid(
    408,
    'The request arrived too slowly',
    'The headers of a request must arrive two seconds after the time for which an idle connection is kept, 75 seconds by default, at the latest; its body within five seconds more. The connection is closed. Nothing was executed.',
  ),
  'expectation-failed': invalid(
    417,
    'The expectation cannot be met',
    'The only supported value of the Expect header is `100-continue`. Nothing was executed.',
  ),
  'rate-limited': tooMany(
    'Too many requests',
    'The tenant has used up its requests for this time window. The RateLimit and RateLimit-Policy headers show the limit. Nothing was executed, and the idempotency key is not used up. Retry after the time in Retry-After.',
  ),
  'too-many-invalid-keys': tooMany(
    'Too many invalid API keys',
    'This client address has sent too many API keys that are not valid, and no other key is looked up for it until the time window ends. Nothing was executed, and the idempotency key is not used up. Check the API key, and retry after the time in Retry-After.',
  ),
  'too-many-concurrent-requests': tooMany(
    'Too many requests at the same time',
    'The tenant has half of all requests that this process works on, and leaves the other half to other tenants. Nothing was executed, and the idempotency key is not used up. Send fewer requests at the same time, and retry after the time in Retry-After.',
  ),
  'too-many-active-keys': tooMany(
    'Too many unfinished operations',
    'The tenant has reached its limit of unfinished operations. Nothing was executed, and the idempotency key is not used up. Retry with the same key after the time in Retry-After. Retries of accepted requests are not affected.',
  ),
  'too-many-stored-keys': tooMany(
    'Too many stored idempotency keys',
    'The tenant has reached its limit of idempotency keys, which counts finished ones until the end of their retention. Nothing was executed, and the idempotency key is not used up. Retry with the same key after the time in Retry-After. Retries of accepted requests are not affected.',
  ),
  'headers-too-large': invalid(
    431,
    'The headers are too large',
    'The request line and the headers together may have at most 16,384 bytes. The connection is closed. Nothing was executed.',
  ),
  overloaded: {
    status: 503,
    title: 'Too many requests are in progress',
    meaning:
      'This process is working on as many requests as it can, and does not queue more. Nothing was executed. Retry with the same key after the time in Retry-After.',
    stripeType: 'api_error',
    retry: true,
  },
} as const satisfies Record<string, ProblemDefinition>
