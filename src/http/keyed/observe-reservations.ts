// Tells, of every keyed request, what became of its key: at one place for both kinds of keyed endpoint, and
// once for each request. What is refused for what it asks reserves nothing, and is not told.
import type { Request } from 'express'
import { isStoreUnavailable } from '../../db/connection/store-errors.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import type { ProblemType } from '../../domain/problems/problems.ts'
import type { Answer } from '../responses/answer.ts'
import type { ApiParts, TenantEndpoint } from '../endpoint.ts'
import type { ReservationResult } from '../observer.ts'

/** A keyed endpoint; `tell` is for what its answer would not show. */
export type KeyedEndpoint = (
  parts: ApiParts,
  request: Request,
  tenantId: string,
  tell: (result: ReservationResult) => void,
) => Promise<Answer>

const resultOfProblem: { readonly [Type in ProblemType]?: ReservationResult } = {
  'idempotency-key-reused': 'misuse',
  'idempotency-key-expired': 'expired',
  'operation-in-progress': 'in_progress',
  // Another retry set it going again, and it has failed again meanwhile.
  'provider-unavailable': 'in_progress',
  'outcome-unknown': 'unknown',
  'store-unavailable': 'store_error',
}

export function observeReservations(endpoint: KeyedEndpoint): TenantEndpoint {
  return async (parts, request, tenantId) => {
    let told = false
    const tell = (result: ReservationResult | undefined): void => {
      if (told || result === undefined) return
      told = true
      parts.observe.reserved(tenantId, result)
    }
    try {
      const answer = await endpoint(parts, request, tenantId, tell)
      const isReplay = answer.headers?.['idempotent-replayed'] !== undefined
      tell(isReplay ? 'replayed' : 'created')
      return answer
    } catch (error) {
      tell(resultOfError(error))
      throw error
    }
  }
}

function resultOfError(error: unknown): ReservationResult | undefined {
  if (error instanceof ProblemError) return resultOfProblem[error.type]
  return isStoreUnavailable(error) ? 'store_error' : undefined
}
