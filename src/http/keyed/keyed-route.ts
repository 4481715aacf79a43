// Describes a POST that begins an operation under an idempotency key: its operation, its contract,
// and what is particular to it in reading the request and in answering.
import type { Request } from 'express'
import type { z } from 'zod'
import type { Reservation } from '../../db/idempotency/intents.ts'
import type { Scope } from '../../domain/tenants/api-key.ts'
import type { Operation } from '../../engine/define-operation.ts'
import type { BodyContract, Contract } from '../contracts/contract.ts'
import type { ApiParts, TenantEndpoint } from '../endpoint.ts'
import type { IntentDraft } from './intent-draft.ts'

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
