// Replaces a stored response permanently by one that says that it was dropped: for responses that
// contain what they should not. The idempotency key stays used, so that no retry executes anything.
import type { Flavor } from '../../domain/problems/flavor.ts'
import type { StoredResponse } from '../../domain/operations/operation.ts'
import { paymentPath } from '../../domain/payments/payment.ts'
import { refundPath } from '../../domain/payments/refund.ts'
import { problemResponse, RESPONSE_VERSION } from '../../domain/operations/stored-response.ts'
import type { Transaction } from '../connection/client.ts'
import type { OperationOverview } from '../operators/lists/operation-overviews.ts'

/** `already_dropped`: another request dropped it first, and nothing changed. */
export type DropResult = 'dropped' | 'already_dropped' | 'not_completed'

/** The operation whose response is dropped. */
export type AnsweredOperation = Pick<
  OperationOverview,
  'tenantId' | 'id' | 'status' | 'paymentId' | 'refundId'
>

/** Replaces the stored response of a completed operation. */
export async function dropResponseIfCompleted(
  tx: Transaction,
  operation: AnsweredOperation,
  flavor: Flavor,
): Promise<DropResult> {
  if (operation.status !== 'completed') return 'not_completed'
  const location = (await findLocation(tx, operation)) ?? locationOf(operation)
  const response = droppedResponse(flavor, location)
  const { tenantId, id } = operation
  const { count } = await tx`
    update idempotency_keys set
      response_version = ${RESPONSE_VERSION},
      response_status = ${response.status},
      response_headers = ${JSON.stringify(response.headers)}::jsonb,
      response_body = ${response.body}
    where tenant_id = ${tenantId} and id = ${id}
      and status = 'completed' and response_status <> ${response.status}
  `
  return count > 0 ? 'dropped' : 'already_dropped'
}

/** The path of the resource that the response named. */
async function findLocation(
  tx: Transaction,
  { tenantId, id }: AnsweredOperation,
): Promise<string | undefined> {
  const [row] = await tx<{ location: string }[]>`
    select response_headers ->> 'location' as location from idempotency_keys
    where tenant_id = ${tenantId} and id = ${id}
      and response_headers ? 'location'
  `
  return row?.location
}

function locationOf({ refundId, paymentId }: AnsweredOperation): string | null {
  if (refundId !== null) return refundPath(refundId)
  return paymentId === null ? null : paymentPath(paymentId)
}

/** No other stored response has this status, so that dropping it again changes nothing. */
function droppedResponse(flavor: Flavor, location: string | null): StoredResponse {
  const detail = 'The operation was executed and is not executed again; its response was dropped.'
  const extensions = location === null ? {} : { location }
  const response = problemResponse(flavor, 'response-dropped', detail, extensions)
  return { ...response, headers: { ...response.headers, ...extensions } }
}
