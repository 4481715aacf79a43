// Problem types of the headers of OASIS Repeatable Requests 1.0. The statuses are those of its
// section on the behavior of servers, but for the client's id: a request that the client can mend gets
// a 400 here, where the specification says 501. problems.ts includes them in the full table.
import { invalid, type ProblemDefinition } from './problem-definition.ts'

export const repeatabilityProblems = {
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
