// The final answers that operations end in. They are rendered once, here, and stored as they are.
import { renderProblem, type Flavor } from '../problems/flavor.ts'
import type { ProblemType } from '../problems/problems.ts'
import type { StoredResponse } from './operation.ts'

/** A final refusal before it is rendered: its operation knows what to say, and not in which flavour. */
export interface Refusal {
  readonly type: ProblemType
  readonly detail: string
  /** Further members of the problem. */
  readonly extensions: Readonly<Record<string, unknown>>
}

/** What an operation ends in. A success looks the same in every flavour. */
export type FinalAnswer = StoredResponse | Refusal

export function renderFinal(answer: FinalAnswer, flavor: Flavor): StoredResponse {
  if (!('type' in answer)) return answer
  return problemResponse(flavor, answer.type, answer.detail, answer.extensions)
}

/** A success that made or changed the resource at the given path. */
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

/** A final refusal in that flavour; `extensions` are further members of the problem. */
export function problemResponse(
  flavor: Flavor,
  type: ProblemType,
  detail?: string,
  extensions?: Readonly<Record<string, unknown>>,
): StoredResponse {
  const { status, contentType, body } = renderProblem(flavor, type, detail, extensions)
  return { status, headers: { 'content-type': contentType }, body }
}
