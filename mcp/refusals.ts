// Tells an agent why the API refused a call, or that no answer came.
import { ApiError } from '../client/errors.ts'
import type { Payment, Refund } from '../client/index.ts'
import { nothingHappened, notKnownYet, type Subject, type Told } from './told.ts'

/** The operation may have been accepted, or goes on. Its end is found by look_up. */
const OPEN = [
  'outcome-unknown',
  'operation-in-progress',
  'internal-error',
  'store-unavailable',
  'request-timeout',
]

/** The API key of this server, not the arguments of the agent. */
const OF_THE_SERVER = ['api-key-missing', 'api-key-invalid', 'scope-missing']

/** What is not proved to have had no effect is not known yet, a fault of this server included. */
export function tellError(error: unknown, subject: Subject): Told {
  if (!(error instanceof ApiError)) return notKnownYet(subject)
  const { problem, status } = error
  if (problem === undefined || OPEN.includes(problem)) return notKnownYet(subject)
  if (problem === 'provider-unavailable') return nothingHappened(subject)
  if (status >= 500) return notKnownYet(subject)
  if (OF_THE_SERVER.includes(problem)) {
    const message = `Refused: the API key of this MCP server is not accepted (${problem}). Nothing was executed. Tell the person who runs this server.`
    return { outcome: 'refused', message }
  }
  const message = `Refused (${problem}): ${reasonOf(error)} This call executed nothing.`
  return { outcome: 'refused', message }
}

/** Whether an earlier request has the idempotency key or the reference. */
export const isTaken = (error: unknown): boolean =>
  error instanceof ApiError &&
  (error.problem === 'idempotency-key-reused' || problemOf(error).earlier !== undefined)

interface ProblemBody {
  readonly title?: string
  readonly detail?: string
  readonly errors?: readonly { readonly pointer: string; readonly detail: string }[]
  readonly payment?: Payment
  readonly refund?: Refund
  /** With `duplicate-reference`: the id of the payment or refund that uses the reference. */
  readonly earlier?: string
  /** In the flavour of Stripe, the members are here. */
  readonly error?: ProblemBody & { readonly message?: string }
}

/** The members of the problem in either flavour of the service. */
export function problemOf(error: unknown): ProblemBody {
  const body = error instanceof ApiError ? ((error.body ?? {}) as ProblemBody) : {}
  const { error: own = {}, ...members } = body
  return { ...own, ...members, title: members.title ?? own.message ?? 'No reason was given' }
}

function reasonOf(error: ApiError): string {
  const { title = '', detail, errors = [] } = problemOf(error)
  const places = errors.map(({ pointer, detail: what }) => `${pointer}: ${what}.`)
  // `detail` repeats the first of the errors.
  const reasons = places.length === 0 && detail !== undefined ? [detail] : places
  return [`${title}.`, ...reasons].join(' ')
}
