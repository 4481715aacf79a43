// Renders docs/flavours.md: every difference between the flavours.
import { acpError, flavors, statusIn, type Flavor } from '../../src/domain/problems/flavor.ts'
import { errorMember } from '../../src/domain/problems/problem-error.ts'
import type { ProblemType } from '../../src/domain/problems/problems.ts'
import { code, renderTable } from './markdown.ts'

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

/** Every difference between the flavours, and some headers that are the same in both. */
export const differences: readonly Difference[] = [
  { situation: 'same key, another request', ...shownOf('idempotency-key-reused') },
  {
    situation: 'no key',
    ...shownOf('idempotency-key-missing'),
    because:
      'The server does not generate keys: a client cannot repeat a key that it does not know.',
  },
  { situation: 'same key, in flight', ...shownOf('operation-in-progress') },
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
  { situation: 'a refund of a disputed payment', ...shownOf('charge-disputed') },
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
    const error = flavor === 'acp' ? acpError(type) : errorMember(type)
    return { status: statusIn(flavor, type), type: error.type, code: error.code }
  }
  return { ietf: shown('ietf'), stripe: shown('stripe'), acp: shown('acp') }
}

export function renderFlavours(): string {
  const rows = differences.map((difference) => [
    difference.situation,
    ...flavors.map((flavor) => showDifference(difference[flavor])),
    difference.because ?? '',
  ])
  return renderTable(['', ...flavors.map(code), 'why'], rows)
}

function showDifference(shown: (typeof differences)[number][Flavor]): string {
  if (typeof shown === 'string') return shown
  return `${code(String(shown.status))} ${code(shown.type)}, ${code(shown.code)}`
}
