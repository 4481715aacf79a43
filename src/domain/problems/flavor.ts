// The flavours of the API, and every difference between them: `ietf` follows the RFCs and drafts of
// the IETF, `stripe` does what the SDKs of Stripe expect, `acp` is the Agentic Commerce Protocol.
// docs/flavours.md shows this table.
import { errorMember, problemBody, type FieldError } from './problem-error.ts'
import { problems, type ProblemType } from './problems.ts'

// The error object of the Agentic Commerce Protocol, version 2026-04-17: the schema `Error` of
// openapi.agentic_checkout.yaml and section 6.4 of rfc.agentic_checkout.md.

/** The schema allows no other members. */
interface AcpError {
  readonly type: 'invalid_request' | 'processing_error' | 'service_unavailable'
  readonly code: string
  readonly message: string
  /** The first wrong field, as a JSONPath of RFC 9535. */
  readonly param?: string
}

/**
 * The codes that the protocol names. An unknown outcome is one of a request in flight for an agent: it
 * retries with the same key, and an agent that does not know the code could take another key.
 */
const ACP_CODES: { readonly [Type in ProblemType]?: string } = {
  'idempotency-key-missing': 'idempotency_key_required',
  'idempotency-key-reused': 'idempotency_conflict',
  'operation-in-progress': 'idempotency_in_flight',
  'outcome-unknown': 'idempotency_in_flight',
}

/** A problem as an ACP error; `extensions.error` may contain the code of a decline. */
export function acpError(
  type: ProblemType,
  detail?: string,
  extensions: Readonly<Record<string, unknown>> = {},
): AcpError {
  const { status, title } = problems[type]
  const own = extensions['error'] as { readonly code?: string } | undefined
  const param = pathOf(extensions['errors'] as readonly FieldError[] | undefined)
  return {
    type: typeOf(status),
    code: own?.code ?? ACP_CODES[type] ?? type.replaceAll('-', '_'),
    message: detail ?? title,
    ...(param === undefined ? {} : { param }),
  }
}

function typeOf(status: number): AcpError['type'] {
  if (status === 429 || status === 503) return 'service_unavailable'
  return status === 500 ? 'processing_error' : 'invalid_request'
}

/** The normalized path of the first error (RFC 9535, section 2.7). */
function pathOf([first]: readonly FieldError[] = []): string | undefined {
  if (first === undefined) return undefined
  const names = first.pointer.split('/').slice(1)
  const steps = names.map((name) =>
    /^[a-z_]\w*$/i.test(name) ? `.${name}` : `[${/^\d+$/.test(name) ? name : quote(name)}]`,
  )
  return `$${steps.join('')}`
}

/** A member name in single quotes, with the escapes of RFC 6901 undone. */
function quote(name: string): string {
  const text = name.replaceAll('~1', '/').replaceAll('~0', '~')
  return `'${text.replaceAll(/['\\]/g, String.raw`\$&`)}'`
}

export const flavors = ['ietf', 'stripe', 'acp'] as const
export type Flavor = (typeof flavors)[number]

/** An error in one flavour: its status, and the type and code of its error object. */
interface ErrorExample {
  readonly status: number
  readonly type: string
  readonly code: string
}

interface Difference {
  readonly situation: string
  readonly ietf: ErrorExample | string
  readonly stripe: ErrorExample | string
  readonly acp: ErrorExample | string
  /** The reason, where it is not obvious. */
  readonly because?: string
}

/** Statuses that Stripe's SDKs would treat as a server error. */
const BAD_REQUESTS: readonly number[] = [413, 415, 422]

/** Stripe refuses with 400 what the state of an object does not allow. */
const STATE_REFUSALS: readonly ProblemType[] = [
  'charge-disputed',
  'invalid-state',
  'refund-exceeds-capture',
]

/** Every difference between the flavours, and some headers that are the same in both. */
export const differences: readonly Difference[] = [
  {
    situation: 'same key, another request',
    ...shownOf('idempotency-key-reused'),
  },
  {
    situation: 'no key',
    ...shownOf('idempotency-key-missing'),
    because:
      'The server does not generate keys: a client cannot repeat a key that it does not know.',
  },
  {
    situation: 'same key, in flight',
    ...shownOf('operation-in-progress'),
  },
  {
    situation: 'same key, outcome unknown',
    ...shownOf('outcome-unknown'),
    because: 'Stripe has no such error. Every retry gets this answer until the outcome is known.',
  },
  {
    situation: 'a field that is not accepted',
    ...shownOf('invalid-field'),
    because: 'The SDKs of Stripe treat only 400 and 404 as bad requests; 413 becomes 400 too.',
  },
  {
    situation: 'a payment whose status does not allow it',
    ...shownOf('invalid-state'),
    because:
      'Stripe answers 409 only for a conflict that a retry can solve. A refund above what is left is 400 as well.',
  },
  {
    situation: 'a form instead of a JSON body',
    ...shownOf('unsupported-content-type'),
    because:
      'A form has no types: `10` could be an amount or a text. The SDKs of Stripe send forms; give them an HTTP client that sends JSON.',
  },
  {
    situation: 'a refund of a disputed payment',
    ...shownOf('charge-disputed'),
  },
  {
    situation: "an error's body",
    ietf: '`application/problem+json`, with an `error` member',
    stripe: '`application/json`, the `error` member alone',
    acp: '`application/json`, the error object without a member around it',
    because:
      'The official package treats JSON without `error` as a success, regardless of the status.',
  },
  {
    situation: 'details of an error',
    ietf: 'members of the problem: `errors`, `payment`, `refund`',
    stripe: 'the same, as members of `error`',
    acp: '`param`, the JSONPath of the first field; the schema allows no more',
  },
  {
    situation: '`Stripe-Should-Retry`',
    ietf: 'not sent',
    stripe: '`true` on an error with `Retry-After`, else `false`',
    acp: 'not sent',
    because: 'The SDKs of Stripe retry every 409 and 5xx unless this header forbids it.',
  },
  {
    situation: '`Idempotency-Key` in the answer',
    ietf: 'not sent',
    stripe: 'as it was sent, once the key has been reserved',
    acp: 'as it was sent, once the key has been reserved',
  },
  {
    situation: '`Request-Id`, `Idempotent-Replayed`, `Retry-After`',
    ietf: 'sent',
    stripe: 'sent',
    acp: 'sent',
    because: '`Stripe-Version` is not sent: the API has no dated versions.',
  },
  {
    situation: 'a final answer stored before the flavour changed',
    ietf: 'replayed as it was stored',
    stripe: 'replayed as it was stored',
    acp: 'replayed as it was stored',
    because: 'A response is rendered once, so every final answer of a key has the same bytes.',
  },
]

function shownOf(type: ProblemType): Record<Flavor, ErrorExample> {
  const shown = (flavor: Flavor) => {
    const { type: errorType, code } = flavor === 'acp' ? acpError(type) : errorMember(type)
    return { status: statusIn(flavor, type), type: errorType, code }
  }
  return { ietf: shown('ietf'), stripe: shown('stripe'), acp: shown('acp') }
}

/** The status of a problem in this flavour. */
export function statusIn(flavor: Flavor, type: ProblemType): number {
  const { status } = problems[type]
  const isBadRequest = BAD_REQUESTS.includes(status) || STATE_REFUSALS.includes(type)
  return flavor === 'stripe' && isBadRequest ? 400 : status
}

/** Renders a problem in this flavour; `extensions` are additional members. */
export function renderProblem(
  flavor: Flavor,
  type: ProblemType,
  detail?: string,
  extensions: Readonly<Record<string, unknown>> = {},
): { readonly status: number; readonly contentType: string; readonly body: string } {
  const status = statusIn(flavor, type)
  if (flavor === 'ietf') {
    const body = JSON.stringify(problemBody(type, detail, extensions))
    return { status, contentType: 'application/problem+json; charset=utf-8', body }
  }
  if (flavor === 'acp') return { status, ...json(acpError(type, detail, extensions)) }
  const { error: own, ...others } = extensions
  const error = {
    ...errorMember(type, detail, { ...others, error: own }),
    doc_url: `/problems/${type}`,
    ...others,
  }
  return { status, ...json({ error }) }
}

const json = (body: object) => ({
  contentType: 'application/json; charset=utf-8',
  body: JSON.stringify(body),
})
