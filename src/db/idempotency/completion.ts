// What each statement sets that completes an idempotency key without a worker.
import type { StoredResponse } from '../../domain/operations/operation.ts'
import { RESPONSE_VERSION } from '../../domain/operations/stored-response.ts'
import type { Fragment, Sql, Transaction } from '../connection/client.ts'

/** Sets the final response, and starts the retention. */
export function completedWith(
  sql: Sql | Transaction,
  response: StoredResponse,
  retentionSeconds: number,
): Fragment {
  return sql`
    status = 'completed', recovery_point = 'finished',
    response_version = ${RESPONSE_VERSION}, response_status = ${response.status},
    response_headers = ${JSON.stringify(response.headers)}::jsonb,
    response_body = ${response.body},
    finished_at = now(),
    expires_at = now() + ${retentionSeconds} * interval '1 second'
  `
}
