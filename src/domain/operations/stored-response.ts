// Renders the final answers of operations. An answer is rendered once and stored as it is.
import { renderProblem, type Flavor } from '../problems/flavor.ts'
import type { ProblemType } from '../problems/problems.ts'
import type { StoredResponse } from './operation.ts'

/**
 * The form of what is stored with an idempotency key: status, headers and the exact bytes. Version 1
 * has the same form, from processes that stated none. Older versions are replayed for as long as keys
 * live. A process must not guess what a newer one means, so that a new form needs two releases: the
 * first one can read it, the second one writes it.
 */
export const RESPONSE_VERSION = 2

/**
 * The problems that end an operation, and when. They are stored and replayed, as successes are. Every
 * other problem leaves the idempotency key usable. Some end a request in other cases, too, and are
 * not stored then.
 */
export const storedProblems = {
  'payment-declined': 'the card was declined, or the provider refused the payment',
  'authorization-expired': 'the provider released the held money before it was captured',
  'refund-declined': 'the provider refused the refund',
  'operation-timed-out': 'given up before it had any effect, and not retried until the key expired',
  'invalid-state':
    'given up, not retried until the key expired, and another request ended the payment',
  'charge-disputed':
    'the provider refused the refund because of a dispute: the answer has a `refund`',
  'response-dropped': 'an operator dropped the stored answer',
  'operation-canceled': 'the client canceled the key before anything was executed',
} as const satisfies { readonly [Type in ProblemType]?: string }

export type StoredProblem = keyof typeof storedProblems

/** A final refusal that is not rendered yet. The operation does not know the flavour of the API. */
export interface Refusal {
  readonly type: StoredProblem
  readonly detail: string
  /** Additional members of the problem. */
  readonly extensions: Readonly<Record<string, unknown>>
}

/** The final answer of an operation. A success looks the same in every flavour. */
export type FinalAnswer = StoredResponse | Refusal

export function renderFinal(answer: FinalAnswer, flavor: Flavor): StoredResponse {
  if (!('type' in answer)) return answer
  return problemResponse(flavor, answer.type, answer.detail, answer.extensions)
}

/** The response to a request that created or changed the resource at this path. */
export function resourceResponse(
  status: number,
  path: string,
  resource: Readonly<Record<string, unknown>>,
): StoredResponse {
  return {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', location: path },
    body: JSON.stringify(resource),
  }
}

/** A final refusal in this flavour; `extensions` are additional members of the problem. */
export function problemResponse(
  flavor: Flavor,
  type: StoredProblem,
  detail?: string,
  extensions?: Readonly<Record<string, unknown>>,
): StoredResponse {
  const { status, contentType, body } = renderProblem(flavor, type, detail, extensions)
  return { status, headers: { 'content-type': contentType }, body }
}
