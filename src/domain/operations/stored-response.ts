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

/** A final refusal that is not rendered yet. The operation does not know the flavour of the API. */
export interface Refusal {
  readonly type: ProblemType
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
  type: ProblemType,
  detail?: string,
  extensions?: Readonly<Record<string, unknown>>,
): StoredResponse {
  const { status, contentType, body } = renderProblem(flavor, type, detail, extensions)
  return { status, headers: { 'content-type': contentType }, body }
}
