// Tells the answers of the service from those of something between it and the client: a redirect, the
// page of a proxy, an empty body. Only an answer of the service says what became of an operation.
import { ForeignAnswerError, membersOf, readProblem } from './errors.ts'

/** The resources of the API. Other paths, such as `/openapi.yaml`, have forms of their own. */
const RESOURCES = /\/(v1|admin)\//

/**
 * Checks that the service itself gave the answer to a request.
 *
 * @param body the whole body, read as JSON; undefined when it is none.
 * @throws ForeignAnswerError that says what came instead.
 */
export function checkOwn(request: Request, response: Response, body: unknown): void {
  const reason = whatElse(request, response, body)
  if (reason !== undefined) throw new ForeignAnswerError(reason)
}

function whatElse(request: Request, response: Response, body: unknown): string | undefined {
  const { status, headers, redirected, type } = response
  if (redirected || type === 'opaqueredirect' || (status >= 300 && status < 400)) {
    return `the answer is a redirect${targetOf(headers)}: set baseUrl to the URL of the service`
  }
  if (!RESOURCES.test(new URL(request.url).pathname)) return undefined
  // Only operators' routes, which take no key, answer without a body.
  const mayBeEmpty = request.method === 'DELETE' && !request.headers.has('idempotency-key')
  if (status === 204 && mayBeEmpty) return undefined
  const contentType = headers.get('content-type') ?? 'no content type'
  const isJson = /^application\/([\w.-]+\+)?json\s*(;|$)/i.test(contentType)
  const isOwn = status < 400 ? isResource(body) : isProblem(body)
  return isJson && isOwn
    ? undefined
    : `the answer is not one of the service: ${status}, ${contentType}`
}

/** Without the query, which may have a secret. */
function targetOf(headers: Headers): string {
  const target = headers.get('location')?.split(/[?#]/)[0]
  return target === undefined ? '' : ` to ${target}`
}

const isResource = (body: unknown): boolean => isText(membersOf(body)['object'])

/** In each flavour of the service. `acp` has neither a page nor a name of a problem. */
function isProblem(body: unknown): boolean {
  const { type, code, message } = membersOf(body)
  return readProblem(body).problem !== undefined || [type, code, message].every(isText)
}

const isText = (value: unknown): boolean => typeof value === 'string'
