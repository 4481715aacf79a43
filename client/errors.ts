// The errors of a call: ApiError when the service answered with a problem, NoAnswerError when no
// try got an answer of the service.

/** The service answered with a problem, as RFC 9457 or in Stripe's error format. */
export class ApiError extends Error {
  override name = 'ApiError'
  readonly status: number
  /** The problem's name, for example `payment-declined`. `/problems/<name>` explains it. */
  readonly problem: string | undefined
  /** The whole response body. */
  readonly body: unknown
  /** Identifies this answer in the service's logs: pass it on when you ask for support. */
  readonly requestId: string | undefined

  constructor(body: unknown, response: Response) {
    const { problem, message } = readProblem(body)
    super(`${response.status} ${problem ?? 'unknown problem'}: ${message ?? 'no details'}`)
    this.status = response.status
    this.problem = problem
    this.body = body
    this.requestId = response.headers.get('request-id') ?? undefined
  }
}

/**
 * No try got an answer of the service that says what became of the operation, so it may have been
 * executed. To find out, make the same call with the same key: the service executes the operation at
 * most once. `cause` says what came instead.
 */
export class NoAnswerError extends Error {
  override name = 'NoAnswerError'
  readonly tries: number
  readonly idempotencyKey: string | undefined

  constructor(tries: number, idempotencyKey: string | undefined, cause: unknown) {
    const advice =
      idempotencyKey === undefined
        ? 'check whether the operation was executed'
        : `repeat the call with the same key, ${idempotencyKey}`
    const why = isOfClient(cause) ? ` (${cause.message})` : ''
    super(`no answer after ${tries === 1 ? '1 try' : `${tries} tries`}${why}: ${advice}`, { cause })
    this.tries = tries
    this.idempotencyKey = idempotencyKey
  }
}

/** The message of another error, such as one of fetch, may have what was sent. */
function isOfClient(cause: unknown): cause is Error {
  return cause instanceof ApiError || cause instanceof ForeignAnswerError
}

/** Something else than the service answered: a proxy, a login page, another service. */
export class ForeignAnswerError extends Error {
  override name = 'ForeignAnswerError'
}

interface Problem {
  readonly problem: string | undefined
  readonly message: string | undefined
}

/** Reads the name and the message of a problem in any flavour of the service; `acp` has no names. */
export function readProblem(body: unknown): Problem {
  const { type, title, detail, error, message: own } = membersOf(body)
  const { doc_url: page, message } = membersOf(error)
  return {
    problem: /\/problems\/([a-z0-9-]+)$/.exec(textOf(type) ?? textOf(page) ?? '')?.[1],
    message: textOf(detail) ?? textOf(title) ?? textOf(message) ?? textOf(own),
  }
}

/** The members of a JSON object; none of anything else. */
export function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** Returns the result of a call. Throws ApiError if the answer is a problem. */
export function unwrap<Result>(
  answer:
    | { readonly data: Result; readonly error?: never; readonly response: Response }
    | { readonly data?: never; readonly error: unknown; readonly response: Response },
): Result {
  if (!answer.response.ok) throw new ApiError(answer.error, answer.response)
  return answer.data as Result
}
