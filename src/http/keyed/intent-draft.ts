// Defines what a keyed route derives from its request, before the idempotency key is reserved.
import { noResource, type IntentDetails, type WriteResources } from '../../db/idempotency/intent.ts'
import type { ProblemError } from '../../domain/problems/problem-error.ts'

/**
 * What a route derives from a request: the ids and parameters of its operation, and its resource.
 */
export interface IntentDraft {
  readonly paymentId: string
  readonly refundId?: string
  /** The parts of the request that no resource stores. */
  readonly parameters?: Readonly<Record<string, unknown>>
  /** The columns of the resource that the request creates. */
  readonly details?: IntentDetails
  /** Creates or marks the resource. The same function for all requests of the route. */
  readonly resource: WriteResources
  /** Explains why `resource` returned no row. Reads the store again, after the transaction. */
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
