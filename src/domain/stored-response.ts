// The final answers that operations end in. They are rendered once, here, and stored as they are.
import { problemBody } from './errors.ts'
import { problems, type ProblemType } from './problems.ts'
import type { StoredResponse } from './operation.ts'

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

/** A final refusal, as RFC 9457 has it; `extensions` are further members of the problem. */
export function problemResponse(
  type: ProblemType,
  detail?: string,
  extensions?: Readonly<Record<string, unknown>>,
): StoredResponse {
  return {
    status: problems[type].status,
    headers: { 'content-type': 'application/problem+json; charset=utf-8' },
    body: JSON.stringify(problemBody(type, detail, extensions)),
  }
}
