// Says why a command failed, in the service's own words when it refused, and chooses the exit code.
import { ApiError, ForeignAnswerError, NoAnswerError } from '../client/errors.ts'
import { NotFoundError, UsageError } from './errors.ts'
import type { Output } from './output.ts'

const REFUSED = 1
const WRONG_USAGE = 2

export interface Sent {
  /** The URL of the service. */
  readonly service: string
  /** Whether the command changes something. */
  readonly changes: boolean
}

/** Errors of a connection that was never made: nothing was sent. */
const NOT_CONNECTED = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN']

const MAY_HAVE_RUN = 'The command may have taken effect. See what stands before you run it again.'

/** @param sent undefined when the command line or the settings are wrong. */
export function reportError(error: unknown, output: Output, sent?: Sent): number {
  const { lines: reasons, mayHaveRun, ...rest } = describe(error, sent?.service ?? '')
  const lines = mayHaveRun === true && sent?.changes === true ? [...reasons, MAY_HAVE_RUN] : reasons
  if (output.isJson) output.jsonError({ object: 'error', message: lines.join(' '), ...rest })
  else for (const line of lines) output.note(line)
  return error instanceof UsageError ? WRONG_USAGE : REFUSED
}

interface Description {
  readonly lines: readonly string[]
  readonly mayHaveRun?: boolean
  readonly status?: number
  readonly problem?: unknown
}

function describe(error: unknown, service: string): Description {
  if (error instanceof UsageError) {
    return { lines: [`atomic: ${error.message}`, 'See: npm run atomic -- --help'] }
  }
  if (error instanceof ApiError) return describeProblem(error, service)
  if (error instanceof NoAnswerError) return describeNoAnswer(error, service)
  if (error instanceof NotFoundError) return { lines: [error.message] }
  return { lines: [error instanceof Error ? error.message : String(error)] }
}

function describeNoAnswer(error: NoAnswerError, service: string): Description {
  const { cause } = error
  if (cause instanceof ForeignAnswerError) {
    const lines = [`No answer of the service at ${service}: ${cause.message}`]
    return { lines, mayHaveRun: true }
  }
  const reason = causeOf(error)
  const lines = [`The service at ${service} is not reachable: ${reason}`]
  return { lines, mayHaveRun: !NOT_CONNECTED.includes(reason) }
}

function describeProblem({ status, body, requestId }: ApiError, service: string): Description {
  const { title, detail, type, error } = membersOf(body)
  // In Stripe's error format, which IDEMPOTENCY_FLAVOR selects.
  const { message, doc_url: page } = membersOf(error)
  const link = textOf(type) ?? textOf(page)
  const lines = [
    `The service refused: ${textOf(title) ?? textOf(message) ?? `status ${status}`}`,
    ...[textOf(detail)].filter((text) => text !== undefined),
    ...(link === undefined ? [] : [URL.parse(link, service)?.href ?? link]),
    ...(requestId === undefined ? [] : [`Request ${requestId}`]),
  ]
  return { lines, status, problem: body, mayHaveRun: status >= 500 }
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** The code, because a message of fetch may have what was sent. */
function causeOf(error: unknown): string {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code, name } = cause as { code?: unknown; name: string }
    if (typeof code === 'string') return code
    if (name === 'TimeoutError') return 'no answer in time'
  }
  return 'no answer'
}
