// Reports the result of every keyed request to the observer, once per request, for both kinds of
// keyed endpoint. An invalid request reserves no key and is not reported.
import { showId } from '../../domain/resource-id.ts'
import type { Request } from 'express'
import { isStoreUnavailable } from '../../db/connection/store-errors.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import type { ProblemType } from '../../domain/problems/problems.ts'
import type { Answer } from '../responses/answer.ts'
import type { ApiParts, TenantEndpoint } from '../endpoint.ts'
import type { ReservationResult } from '../observer.ts'

/** A keyed endpoint. It calls `report` when its answer does not show the result. */
export type KeyedEndpoint = (
  parts: ApiParts,
  request: Request,
  tenantId: string,
  report: (result: ReservationResult) => void,
) => Promise<Answer>

const resultOfProblem: { readonly [Type in ProblemType]?: ReservationResult } = {
  'idempotency-key-reused': 'misuse',
  'idempotency-key-expired': 'expired',
  'repeatability-first-sent-too-old': 'expired',
  'operation-in-progress': 'in_progress',
  // Another retry reopened the operation, and it failed again in the meantime.
  'provider-unavailable': 'in_progress',
  'outcome-unknown': 'unknown',
  'store-unavailable': 'store_error',
}

export function observeReservations(endpoint: KeyedEndpoint): TenantEndpoint {
  return async (parts, request, tenantId) => {
    let isReported = false
    const report = (result: ReservationResult | undefined): void => {
      if (isReported || result === undefined) return
      isReported = true
      parts.observe.reserved(showId('tnt', tenantId), result)
    }
    try {
      const answer = await endpoint(parts, request, tenantId, report)
      const isReplay = answer.headers?.['idempotent-replayed'] !== undefined
      report(isReplay ? 'replayed' : 'created')
      return answer
    } catch (error) {
      report(resultOfError(error))
      throw error
    }
  }
}

function resultOfError(error: unknown): ReservationResult | undefined {
  if (error instanceof ProblemError) return resultOfProblem[error.type]
  return isStoreUnavailable(error) ? 'store_error' : undefined
}
