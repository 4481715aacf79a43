// The flavours of the API, and how each renders a problem: `ietf` follows the RFCs and drafts of
// the IETF, `stripe` does what the SDKs of Stripe expect, `acp` is the Agentic Commerce Protocol.
// dev/docs/flavours.ts lists the differences.
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

/** Statuses that Stripe's SDKs would treat as a server error. */
const BAD_REQUESTS: readonly number[] = [413, 415, 422]

/** Stripe refuses with 400 what the state of an object does not allow. */
const STATE_REFUSALS: readonly ProblemType[] = [
  'charge-disputed',
  'invalid-state',
  'refund-exceeds-capture',
]

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
