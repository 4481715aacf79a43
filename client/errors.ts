// How a call ends that brings no result: with an answer that says why, or with none at all.

/** The service has answered, and the answer is a problem (RFC 9457, or Stripe's shape of one). */
export class ApiError extends Error {
  override name = 'ApiError'
  readonly status: number
  /** The problem's name, such as `payment-declined`; its page is at `/problems/` and the name. */
  readonly problem: string | undefined
  /** Everything that the answer says. */
  readonly body: unknown
  /** For whoever is asked about this answer. */
  readonly requestId: string | undefined

  constructor(body: unknown, response: Response) {
    const { problem, message } = readProblem(body)
    super(`${response.status} ${problem ?? 'without a problem'}: ${message ?? 'no more is said'}`)
    this.status = response.status
    this.problem = problem
    this.body = body
    this.requestId = response.headers.get('request-id') ?? undefined
  }
}

/**
 * The last try brought no answer. What was asked for may have been done: only the same call with the same
 * key tells, and does it once at most.
 */
export class NoAnswerError extends Error {
  override name = 'NoAnswerError'
  readonly tries: number
  readonly idempotencyKey: string | undefined

  constructor(tries: number, idempotencyKey: string | undefined, cause: unknown) {
    const advice =
      idempotencyKey === undefined
        ? 'look whether it was done'
        : `repeat the call with its key ${idempotencyKey}`
    super(`no answer after ${tries === 1 ? 'one try' : `${tries} tries`}: ${advice}`, { cause })
    this.tries = tries
    this.idempotencyKey = idempotencyKey
  }
}

interface Problem {
  readonly problem: string | undefined
  readonly message: string | undefined
}

/** Reads a problem in either flavour of the service. */
export function readProblem(body: unknown): Problem {
  const { type, title, detail, error } = membersOf(body)
  const { doc_url: page, message } = membersOf(error)
  return {
    problem: /\/problems\/([a-z0-9-]+)$/.exec(textOf(type) ?? textOf(page) ?? '')?.[1],
    message: textOf(detail) ?? textOf(title) ?? textOf(message),
  }
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** The result of a call. Throws ApiError when the answer is a problem. */
export function unwrap<Result>(
  answer:
    | { readonly data: Result; readonly error?: never; readonly response: Response }
    | { readonly data?: never; readonly error: unknown; readonly response: Response },
): Result {
  if (!answer.response.ok) throw new ApiError(answer.error, answer.response)
  return answer.data as Result
}
