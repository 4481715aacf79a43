// Describes a POST that begins an operation under an idempotency key: its operation, its contract, and what is
// particular to it in reading the request and in answering.
import { noResource, type IntentDetails, type WriteResources } from '../../db/idempotency/intent.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import type { Request } from 'express'
import type { z } from 'zod'
import type { Reservation } from '../../db/idempotency/intents.ts'
import type { Scope } from '../../domain/tenants/api-key.ts'
import type { Operation } from '../../engine/define-operation.ts'
import type { BodyContract, Contract } from '../contracts/contract.ts'
import type { ApiParts, TenantEndpoint } from '../endpoint.ts'

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

/** The problem of a request whose tenant requires a reference, if it has none: see `refusing`. */
export function findReferenceProblem(
  { requiresReference = false }: ApiParts,
  reference: string | null,
): ProblemError | undefined {
  if (!requiresReference || reference !== null) return undefined
  const errors = [{ pointer: '/reference', detail: 'Required' }]
  return new ProblemError('reference-required', { errors })
}

/** Describes one keyed POST. */
export interface KeyedRoute {
  readonly operation: Operation
  readonly path: string
  readonly scope: Scope
  /** What openapi.yaml says about it. */
  readonly contract: KeyedContract
  /**
   * Reads the request. It runs before the key is reserved, also for most retries. So it may refuse
   * only errors that no later state can change, for example a malformed body or an unknown id.
   * Conditions on a state belong into `resource`, which retries do not run. Throws ProblemError.
   */
  readonly readBeforeKey: (request: KeyedRequestParts) => Promise<IntentDraft>
  /** Returns the path and the current JSON of the resource, for an answer that is not final. */
  readonly showUnfinished: (
    parts: ApiParts,
    reservation: Reservation,
  ) => Promise<{ path: string; body: string }>
}

/** The input of a route: the request, its tenant and its parsed body. */
export interface KeyedRequestParts {
  readonly parts: ApiParts
  readonly request: Request
  readonly tenantId: string
  readonly body: Readonly<Record<string, unknown>>
}

/** The contract of a POST whose operation calls the provider. */
export type KeyedContract = Contract & {
  readonly keyed: 'foreign'
  readonly body: BodyContract & { readonly schema: z.ZodObject }
}

/** The POST of an operation, as the routes and openapi.yaml use it. */
export interface OperationEndpoint extends KeyedRoute {
  readonly endpoint: TenantEndpoint
}
