// Problem types of idempotency keys: bad keys, keys in use, and keys whose response is gone.
// problems.ts includes them in the full table.
import { invalid, type ProblemDefinition } from './problem-definition.ts'

// The headers of OASIS Repeatable Requests 1.0. The statuses are those of its section on the behavior of
// servers, but for the client's id: a request that the client can mend gets a 400 here, where the
// specification says 501.

const repeatabilityProblems = {
  'repeatability-request-id-malformed': invalid(
    400,
    'Repeatability-Request-ID is malformed',
    'A Repeatability-Request-ID is one value of 1 to 255 visible ASCII characters, without spaces and without quotes around it, and not `.` or `..`. Nothing was executed.',
  ),
  'repeatability-first-sent-missing': invalid(
    400,
    'Repeatability-First-Sent is missing',
    'A request with a Repeatability-Request-ID also needs a Repeatability-First-Sent: when it was sent for the first time. Nothing was executed.',
  ),
  'repeatability-first-sent-malformed': invalid(
    400,
    'Repeatability-First-Sent is malformed',
    'The header is one time in the form `Fri, 27 Nov 2026 08:49:37 GMT` (IMF-fixdate, RFC 9110 section 5.6.7). Nothing was executed.',
  ),
  'repeatability-keys-differ': invalid(
    400,
    'Idempotency-Key and Repeatability-Request-ID differ',
    'The two headers are names for the same key. Send one of them, or the same value in both. Nothing was executed.',
  ),
  'repeatability-first-sent-in-future': invalid(
    400,
    'Repeatability-First-Sent is in the future',
    'The time is more than five minutes ahead of the clock of the service, so it cannot tell when the key was used first. Nothing was executed, and the idempotency key is not used up. Correct the clock of the client.',
  ),
  'repeatability-first-sent-too-old': invalid(
    412,
    'The request was first sent too long ago',
    'The service has no response for the key, and the request is so old that its key may have been used and deleted. Nothing was executed by this request. If an earlier one was executed, Idempotency-Earlier-Resource may name its resource. Look for it before you send the operation with a new key.',
  ),
  'repeatability-client-id-unsupported': invalid(
    400,
    'Repeatability-Client-ID is not supported',
    'Keys belong to the tenant of the API key, and to no smaller unit. Send the request without this header. Nothing was executed.',
  ),
} as const satisfies Record<string, ProblemDefinition>

export const idempotencyProblems = {
  'idempotency-key-missing': invalid(
    400,
    'Idempotency-Key is missing',
    'Every POST and DELETE below /v1, but the cancellation of a key, needs an Idempotency-Key header, or a Repeatability-Request-ID. Use a new key for each new operation, and the same key for each retry of it. Nothing was executed.',
  ),
  'idempotency-key-empty': invalid(
    400,
    'Idempotency-Key is empty',
    'The Idempotency-Key header has no value. A key has 1 to 255 characters. Nothing was executed.',
  ),
  'idempotency-key-too-short': invalid(
    400,
    'Idempotency-Key is too short',
    'The tenant has a minimum length for new keys, so that they cannot be guessed or repeated by chance. Nothing was executed. Use a UUID. A retry of an accepted request is not affected.',
  ),
  'idempotency-key-too-long': invalid(
    400,
    'Idempotency-Key is too long',
    'A key has at most 255 characters. Nothing was executed.',
  ),
  'idempotency-key-malformed': invalid(
    400,
    'Idempotency-Key is malformed',
    'A key is either an RFC 9651 string in double quotes, or visible ASCII without spaces that does not begin with a double quote. `.` and `..` are refused, because no URL can name them. Nothing was executed.',
  ),
  'idempotency-key-repeated': invalid(
    400,
    'Idempotency-Key is repeated',
    'The request has more than one Idempotency-Key header, so the intended key is ambiguous. Nothing was executed.',
  ),
  ...repeatabilityProblems,
  'operation-timed-out': {
    status: 408,
    title: 'The operation timed out',
    meaning:
      'The operation was abandoned before it had any effect, and no retry arrived before its key expired. Nothing was executed, and nothing will be executed under this key: a retry replays this response. Use a new key to try again.',
    stripeType: 'api_error',
  },
  'operation-in-progress': {
    status: 409,
    title: 'The operation is in progress',
    meaning:
      'Another request with this key is in progress. Retry the same request with the same key after the time in Retry-After, or send `Prefer: wait=N` to wait for the result.',
    stripeType: 'idempotency_error',
    retry: true,
  },
  'outcome-unknown': {
    status: 409,
    title: 'The outcome is not known yet',
    meaning:
      'The provider was called, but its answer was lost. The service does not execute the operation a second time. It looks up at the provider what happened. Retry with the same key after the time in Retry-After, or read the resource.',
    stripeType: 'idempotency_error',
    retry: true,
  },
  'idempotency-key-expired': {
    status: 410,
    title: 'Idempotency-Key has expired',
    meaning:
      'The key was used before, and its response is no longer stored. Idempotency-Key-Expired shows when the key expired, and Idempotency-Earlier-Resource the path of the resource that the earlier request created or changed. This request was not executed. Read that resource. Use a new key only if the operation should happen once more.',
    stripeType: 'idempotency_error',
  },
  'response-dropped': invalid(
    410,
    'The stored response was dropped',
    'The operation of this key was executed once and is not executed again. An operator deleted its response. If `location` is present, read the resource there.',
  ),
  'operation-canceled': {
    status: 410,
    title: 'The operation was canceled',
    meaning:
      'The client canceled this key before anything was executed. Nothing was executed, and nothing will be executed under this key: a retry replays this response. Use a new key for a new operation.',
    stripeType: 'idempotency_error',
  },
  'operation-not-cancelable': invalid(
    409,
    'The operation cannot be canceled',
    'The operation of this key is completed, and the service cannot undo what it did. Only operations that take money are undone: a payment is canceled or refunded. Nothing was changed.',
  ),
  'idempotency-key-reused': {
    status: 422,
    title: 'Idempotency-Key was used for another request',
    meaning:
      'The key belongs to an earlier request with another path or body. Nothing was executed, and the key stays valid for that request. Use a new key for a new operation.',
    stripeType: 'idempotency_error',
  },
} as const satisfies Record<string, ProblemDefinition>
