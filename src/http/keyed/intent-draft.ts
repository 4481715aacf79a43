// Defines what a keyed route derives from its request, before the idempotency key is reserved.
import type { Fragment, Sql } from '../../db/connection/client.ts'
import type { IntentDetails } from '../../db/idempotency/intent.ts'
import { noResource } from '../../db/idempotency/intents.ts'
import type { ProblemError } from '../../domain/problems/problem-error.ts'

/**
 * What a route derives from a request: the ids and parameters of its operation, and its resource.
 */
export interface IntentDraft {
  readonly paymentId: string
  readonly refundId?: string
  /** The parts of the request that no resource stores. */
  readonly parameters?: Readonly<Record<string, unknown>>
  /** What `resource` writes of the request, if the function is the same for all requests. */
  readonly details?: IntentDetails
  /**
   * CTEs of the intent statement that create or mark the resource; the last is named `resource` and
   * returns its row. The statement writes an event of that row, and announces it to webhooks, unless
   * `previous_status` equals `status`. So a part that changes no status has to return them equal, or
   * it announces the status of the row a second time.
   */
  readonly resource: (sql: Sql) => Fragment
  /** Explains why `resource` returned no row. Reads the store again, after the statement. */
  readonly explainRefusal: () => Promise<ProblemError>
}

/**
 * The draft, or with a problem one that reserves no key. Use it for rules that may become stricter,
 * for example the amounts that the provider accepts: unlike an error of `readBeforeKey`, the problem
 * is only for new operations. A retry of one that was accepted before still gets its response.
 */
export function refusing(problem: ProblemError | undefined, draft: IntentDraft): IntentDraft {
  if (problem === undefined) return draft
  const { details: _details, ...others } = draft
  return { ...others, resource: noResource, explainRefusal: () => Promise.resolve(problem) }
}
