// The two ways in which the API speaks of errors and of idempotency, and all that they differ in: what
// the IETF's drafts and RFCs ask for, or what the SDKs of Stripe expect. docs/flavours.md shows this table.
import { errorMember, problemBody } from './problem-error.ts'
import { problems, type ProblemType } from './problems.ts'

export const flavors = ['ietf', 'stripe'] as const
export type Flavor = (typeof flavors)[number]

/** How a difference shows: of an error its status, and the type and code of its `error` member. */
interface ErrorExample {
  readonly status: number
  readonly type: string
  readonly code: string
}

interface Difference {
  readonly situation: string
  readonly ietf: ErrorExample | string
  readonly stripe: ErrorExample | string
  /** What a reader would ask. */
  readonly because?: string
}

/** Statuses that Stripe's SDKs would take for a fault of the server. */
const BAD_REQUESTS: readonly number[] = [413, 415, 422]

/** Every difference between the flavours, and what one could take for a difference and is none. */
export const differences: readonly Difference[] = [
  {
    situation: 'same key, another request',
    ...shownOf('idempotency-key-reused'),
  },
  {
    situation: 'no key',
    ...shownOf('idempotency-key-missing'),
    because:
      'A key made by the server is not offered: the client cannot repeat a key that it does not know, so that it would protect nothing.',
  },
  {
    situation: 'same key, in flight',
    ...shownOf('operation-in-progress'),
  },
  {
    situation: 'same key, outcome unknown',
    ...shownOf('outcome-unknown'),
    because: 'Stripe has no word for it; whoever retries is told the same until it is known.',
  },
  {
    situation: 'a field that is not taken',
    ...shownOf('invalid-field'),
    because: 'The SDKs of Stripe know a bad request by 400 and 404 alone; 413 is 400 there too.',
  },
  {
    situation: 'a body that is no JSON, but a form',
    ...shownOf('unsupported-content-type'),
    because:
      'A form has no types: whether `10` is an amount or a text would be a guess. The SDKs of Stripe send forms; give them an HTTP client that sends JSON.',
  },
  {
    situation: "an error's body",
    ietf: '`application/problem+json`, with an `error` member',
    stripe: '`application/json`, the `error` member alone',
    because: 'The official package takes JSON without `error` for a success, whatever the status.',
  },
  {
    situation: 'what an error is about',
    ietf: 'members of the problem: `errors`, `payment`, `refund`',
    stripe: 'the same, as members of `error`',
  },
  {
    situation: '`Stripe-Should-Retry`',
    ietf: 'not sent',
    stripe: '`true` on an error with `Retry-After`, else `false`',
    because: 'The SDKs of Stripe retry every 409 and 5xx unless they are told.',
  },
  {
    situation: '`Idempotency-Key` in the answer',
    ietf: 'not sent',
    stripe: 'as it was sent, once the key has been reserved',
  },
  {
    situation: '`Request-Id`, `Idempotent-Replayed`, `Retry-After`',
    ietf: 'sent',
    stripe: 'sent',
    because: '`Stripe-Version` is not: there are no dated versions that it could name.',
  },
  {
    situation: 'a final answer from before the flavour was changed',
    ietf: 'replayed as it was stored',
    stripe: 'replayed as it was stored',
    because: 'All final answers of a key are the same bytes; a response is rendered once.',
  },
]

function shownOf(type: ProblemType): Record<Flavor, ErrorExample> {
  const { type: errorType, code } = errorMember(type)
  const shown = (flavor: Flavor) => ({ status: statusIn(flavor, type), type: errorType, code })
  return { ietf: shown('ietf'), stripe: shown('stripe') }
}

/** The status of a problem in that flavour. */
export function statusIn(flavor: Flavor, type: ProblemType): number {
  const { status } = problems[type]
  return flavor === 'stripe' && BAD_REQUESTS.includes(status) ? 400 : status
}

/** A problem in that flavour; `extensions` are further members of it. */
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
  const { error: own, ...others } = extensions
  const error = {
    ...errorMember(type, detail, { ...others, error: own }),
    doc_url: `/problems/${type}`,
    ...others,
  }
  return {
    status,
    contentType: 'application/json; charset=utf-8',
    body: JSON.stringify({ error }),
  }
}
