// The errors of a call: ApiError when the service answered with a problem, NoAnswerError when no
// try got an answer.

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
 * The last try got no answer, so the operation may have been executed. To find out, make the same
 * call with the same key: the service executes the operation at most once.
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
    super(`no answer after ${tries === 1 ? '1 try' : `${tries} tries`}: ${advice}`, { cause })
    this.tries = tries
    this.idempotencyKey = idempotencyKey
  }
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

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
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
