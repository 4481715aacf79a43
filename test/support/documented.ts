// Checks every API response in tests against openapi.yaml. Tests send their API requests with
// `fetchApi`.
import { findUndocumented } from './worker/find-undocumented.ts'

/** Works as `fetch`, and fails the test when openapi.yaml does not document the response. */
export async function fetchApi(url: string | URL, init: RequestInit = {}): Promise<Response> {
  const response = await fetch(url, init)
  const body = await response.clone().text()
  expectDocumented(init.method ?? 'GET', new URL(url).pathname, response, body)
  return response
}

/** @throws Error that lists the differences from the document. */
export function expectDocumented(
  method: string,
  path: string,
  response: Pick<Response, 'status' | 'headers'>,
  body: string,
): void {
  const complaints = findUndocumented(method, path, response, body)
  if (complaints.length === 0) return
  const shown = body.length > 1_000 ? `${body.slice(0, 1_000)}...` : body
  const what = complaints.map((complaint) => `- ${complaint}`).join('\n')
  throw new Error(
    `${method} ${path} was answered ${response.status}, not as openapi.yaml says:\n${what}\n${shown}`,
  )
}
