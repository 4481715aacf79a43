// GET /.well-known/idempotency-policy: describes the guarantees for idempotency keys to machines.
// The README describes them to people.
import { statusIn, type Flavor } from '../../domain/problems/flavor.ts'
import { KEY_LENGTH_MAX } from '../../domain/idempotency/idempotency-key.ts'
import { CLOCK_SKEW_SECONDS, oldestAgeSeconds } from '../../domain/idempotency/repeatability.ts'
import { storedProblems, type StoredProblem } from '../../domain/operations/stored-response.ts'
import { mayRetry, problems, type ProblemType } from '../../domain/problems/problems.ts'
import { jsonType } from '../responses/answer.ts'
import type { ServiceParts, OpenEndpoint } from '../endpoint.ts'
import { WITH_IDEMPOTENCY } from '../keyed/prefer.ts'
import { NESTING_MAX, BODY_MAX_BYTES } from '../requests/read-body.ts'

const POLICY_PATH = '/.well-known/idempotency-policy'

/** The Link header of every answer to a keyed request (RFC 8288). */
export const policyLink = { link: `<${POLICY_PATH}>; rel="describedby"` }

/** The policy changes only with a deployment; clients may learn of it an hour later. */
const CACHE_SECONDS = 3_600

export const getIdempotencyPolicy: OpenEndpoint = async ({ settings }) => ({
  status: 200,
  headers: { ...jsonType, 'cache-control': `public, max-age=${CACHE_SECONDS}` },
  body: JSON.stringify(policyOf(settings)),
})

type Settings = ServiceParts['settings']

function policyOf(settings: Settings): Record<string, unknown> {
  return {
    object: 'idempotency_policy',
    specification: 'https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/07/',
    flavor: settings.IDEMPOTENCY_FLAVOR,
    header: 'Idempotency-Key',
    required_for: {
      methods: ['POST', 'DELETE'],
      path_prefix: '/v1/',
      except: ['POST /v1/idempotency-keys/{key}/cancel'],
    },
    key: {
      min_length: settings.KEY_LENGTH_MIN,
      recommended: 'UUID (RFC 9562)',
      must_not_contain: 'personal data',
      must_not_be: ['.', '..'],
      max_length: KEY_LENGTH_MAX,
      made_by: 'client',
      forms: [
        { form: 'quoted', syntax: 'RFC 9651 string' },
        // A quote at the beginning makes it the other form.
        { form: 'bare', pattern: '^[\\x21\\x23-\\x7E][\\x21-\\x7E]*$' },
      ],
      forms_are_equivalent: true,
    },
    scope: 'tenant',
    scope_spans: ['api_keys', 'methods', 'paths'],
    retention_seconds: settings.KEY_RETENTION_SECONDS,
    retention_seconds_by_operation: byOperation(settings, (seconds) => seconds),
    retention_counted_from: 'final_response',
    expired_keys: settings.EXPIRED_KEYS,
    first_sent: firstSentIn(settings),
    fingerprint: {
      algorithm: 'SHA-256',
      parts: ['method', 'path', 'body'],
      canonicalization: 'RFC 8785',
      // One of the two has to be the same.
      body: ['as_sent', 'as_validated'],
    },
    stored: storedIn(settings.IDEMPOTENCY_FLAVOR),
    member: { name: 'idempotency', added: settings.IDEMPOTENCY_MEMBER, prefer: WITH_IDEMPOTENCY },
    answers: answersIn(settings),
    wait: { default_seconds: settings.WAIT_SECONDS, max_seconds: settings.WAIT_MAX_SECONDS },
    limits: limitsIn(settings),
  }
}

/**
 * Only final responses are stored. A request that is refused before it is accepted uses up no key.
 * `final` has statuses with which other answers are not final: `final_problems` tells them apart.
 */
function storedIn(flavor: Flavor) {
  const final = Object.keys(storedProblems) as StoredProblem[]
  const finalStatuses = new Set(final.map((type) => statusIn(flavor, type)))
  const others = (Object.keys(problems) as ProblemType[])
    .map((type) => statusIn(flavor, type))
    .filter((status) => status < 500 && !finalStatuses.has(status))
  return {
    final: ['2xx', ...textsOf(finalStatuses)],
    final_problems: final.map((type) => ({
      status: statusIn(flavor, type),
      type: `/problems/${type}`,
    })),
    never: ['202 with Retry-After', ...textsOf(new Set(others)), '5xx'],
    replayed_with: { 'idempotent-replayed': 'true' },
    // Of a DELETE, too: its retry gets 200, not 404.
    replayed_status: 'original',
    replayed_body: 'original_bytes',
  }
}

const textsOf = (statuses: ReadonlySet<number>): string[] =>
  [...statuses].toSorted((one, other) => one - other).map(String)

/** The time by which a client is never executed twice, however late it retries. */
function firstSentIn(settings: Settings) {
  const type: ProblemType = 'repeatability-first-sent-too-old'
  return {
    specification: 'https://docs.oasis-open.org/odata/repeatable-requests/v1.0/',
    key_header: 'Repeatability-Request-ID',
    time_header: 'Repeatability-First-Sent',
    max_age_seconds: oldestAgeSeconds(settings.KEY_RETENTION_SECONDS),
    max_age_seconds_by_operation: byOperation(settings, oldestAgeSeconds),
    clock_skew_seconds: CLOCK_SKEW_SECONDS,
    too_old: answerOf(settings.IDEMPOTENCY_FLAVOR, type),
  }
}

/** What follows from the retention of each operation that has one of its own. */
function byOperation(
  { KEY_RETENTION_SECONDS_BY_OPERATION: own = {} }: Settings,
  show: (retentionSeconds: number) => number,
): Record<string, number> {
  return Object.fromEntries(
    Object.entries(own).map(([operation, seconds]) => [operation, show(seconds)]),
  )
}

function answerOf(flavor: Flavor, type: ProblemType) {
  return {
    status: statusIn(flavor, type),
    type: `/problems/${type}`,
    retry_with_same_key: mayRetry(type),
  }
}

function answersIn({ IDEMPOTENCY_FLAVOR: flavor, EXPIRED_KEYS }: Settings) {
  const answer = (type: ProblemType) => answerOf(flavor, type)
  return {
    missing_key: answer('idempotency-key-missing'),
    malformed_key: answer('idempotency-key-malformed'),
    mismatch: answer('idempotency-key-reused'),
    in_flight: answer('operation-in-progress'),
    outcome_unknown: answer('outcome-unknown'),
    not_executed: answer('provider-unavailable'),
    store_unavailable: answer('store-unavailable'),
    canceled: answer('operation-canceled'),
    expired_key: EXPIRED_KEYS === 'gone' ? answer('idempotency-key-expired') : 'executed',
  }
}

/** `null` means no limit. */
function limitsIn(settings: Settings) {
  const perWindow = (requests: number) =>
    requests === 0 ? null : { requests, window_seconds: settings.RATE_LIMIT_WINDOW_SECONDS }
  return {
    body_bytes: BODY_MAX_BYTES,
    json_levels: NESTING_MAX,
    active_keys: settings.MAX_ACTIVE_KEYS === 0 ? null : settings.MAX_ACTIVE_KEYS,
    stored_keys: settings.MAX_STORED_KEYS === 0 ? null : settings.MAX_STORED_KEYS,
    writes: perWindow(settings.RATE_LIMIT_WRITES),
    reads: perWindow(settings.RATE_LIMIT_READS),
    request_age_seconds: settings.REQUEST_MAX_AGE_SECONDS ?? null,
  }
}
