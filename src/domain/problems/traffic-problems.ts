// The problem types of requests that are refused for how they come, and not for what they ask: too many,
// too late, too slow, or not HTTP. Part of the one table.
import { invalid, tooMany, type ProblemDefinition } from './problem-definition.ts'

export const trafficProblems = {
  'malformed-request': invalid(
    400,
    'The request is not HTTP',
    'The request line, a header or the framing of the body breaks the rules of HTTP, or Host is missing. The connection is closed. Nothing was executed.',
  ),
  'request-timestamp-missing': invalid(
    400,
    'Request-Timestamp is missing',
    'This service takes keyed requests with a Request-Timestamp alone: `t=<unix seconds>,v1=<signature>`. Nothing was executed.',
  ),
  'request-timestamp-invalid': invalid(
    400,
    'Request-Timestamp is not valid',
    'The header is malformed, or its signature is not the HMAC-SHA-256, under the API key of the request, of `t.method.path.body`. Nothing was executed.',
  ),
  'request-too-old': invalid(
    400,
    'The request is too old',
    'By its Request-Timestamp the request was made too long ago, or ahead of the clock here. Nothing was executed, and the key is not used up. Sign the request anew, with the same key.',
  ),
  'request-timeout': invalid(
    408,
    'The request came too slowly',
    'The headers of a request have to arrive within ten seconds, its body within five more. The connection is closed. Nothing was executed.',
  ),
  'expectation-failed': invalid(
    417,
    'The expectation cannot be met',
    'The only value of Expect that is known is `100-continue`. Nothing was executed.',
  ),
  'rate-limited': tooMany(
    'Too many requests',
    'The tenant has made as many requests as it may in this window; RateLimit and RateLimit-Policy say how many that is. Nothing was executed, and the key is not used up. Try again after Retry-After.',
  ),
  'too-many-active-keys': tooMany(
    'Too many operations are unfinished',
    'As many operations of the tenant as it may have are not finished. Nothing was executed, and the key is not used up. Retry with the same key after Retry-After; retries of what was accepted are answered as ever.',
  ),
  'headers-too-large': invalid(
    431,
    'The headers are too large',
    'Request line and headers may have 16,384 bytes together. The connection is closed. Nothing was executed.',
  ),
  overloaded: {
    status: 503,
    title: 'Too many requests are in progress',
    meaning:
      'This process works on as many requests as it may, and lets none wait. Nothing was executed. Retry with the same key after Retry-After.',
    stripeType: 'api_error',
    retry: true,
  },
} as const satisfies Record<string, ProblemDefinition>
