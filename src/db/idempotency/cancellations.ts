// Cancels idempotency keys for clients. A key whose operation has not begun at the provider gets its
// final answer at once; every other one is marked, and an internal event does the rest.
import {
  undoableOperations,
  type CancellationStatus,
  type KeyRetention,
} from '../../domain/idempotency/idempotency-key.ts'
import { cancellationOf } from '../../domain/events/provider-event.ts'
import {
  type OperationRef,
  type StoredResponse,
  pointsWithoutEffect,
} from '../../domain/operations/operation.ts'
import type { Sql, Transaction, Fragment } from '../connection/client.ts'
import type { ObjectOf, RowOf } from '../connection/rows.ts'
import { asTenant } from '../connection/transaction.ts'
import { addProviderEvents } from '../events/provider-events.ts'
import { PROVIDER_EVENTS_QUEUE } from '../queue/jobs.ts'
import type { idempotencyKeys } from '../schema/idempotency-keys.ts'
import { RESPONSE_VERSION } from '../../domain/operations/stored-response.ts'

/**
 * Whether no call was recorded as executed. One may still be in doubt. This and the next two are parts of
 * statements that complete an operation without a worker, which the reaper has, too.
 */
export const isWithoutEffect = (sql: Sql | Transaction): Fragment =>
  sql`recovery_point = any(${[...pointsWithoutEffect]}::text[])`

/** The seconds for which the key of a row is kept, by its operation. */
export const retentionOfRow = (
  sql: Sql | Transaction,
  { KEY_RETENTION_SECONDS: seconds, KEY_RETENTION_SECONDS_BY_OPERATION: own = {} }: KeyRetention,
): Fragment =>
  sql`coalesce((${JSON.stringify(own)}::jsonb ->> operation)::float8, ${seconds}::float8)`

/** Sets the final response, and starts the retention. */
export const completedWith = (
  sql: Sql | Transaction,
  response: StoredResponse,
  retention: KeyRetention,
): Fragment => sql`
  status = 'completed', recovery_point = 'finished',
  response_version = ${RESPONSE_VERSION}, response_status = ${response.status},
  response_headers = ${JSON.stringify(response.headers)}::jsonb,
  -- These fixed texts stay plain: docs/decisions/0044-encryption-in-the-process.md.
  response_body = ${response.body},
  finished_at = now(),
  expires_at = now() + ${retentionOfRow(sql, retention)} * interval '1 second'
`

/**
 * Completes an operation in this status with the response, if no call of it can have run. A worker that
 * claims it at the same time either finds it completed, or is first, and then it is not canceled here.
 */
export async function cancelIfNotBegun(
  tx: Transaction,
  { tenantId, id }: OperationRef,
  from: 'pending' | 'failed_retryable',
  { response, retention }: { response: StoredResponse; retention: KeyRetention },
): Promise<boolean> {
  const { count } = await tx`
    update idempotency_keys set
      cancellation = 'prevented', ${completedWith(tx, response, retention)}
    where tenant_id = ${tenantId} and id = ${id}
      and status = ${from} and ${isWithoutEffect(tx)}
      and not in_doubt and phase_began_at is null
  `
  return count === 1
}

/**
 * Marks the operation as one that its client wants undone, and stores the event that does it. False
 * when it is completed and nothing of it can be undone, or marked already. The key is kept for a whole
 * retention from now on, so that it tells how the cancellation ended.
 *
 * @param operation with its payment.
 */
export async function requestCancellation(
  tx: Transaction,
  operation: OperationRef & { readonly paymentId: string },
  { provider, retentionSeconds }: { provider: string; retentionSeconds: number },
): Promise<boolean> {
  const event = cancellationOf(operation, provider, new Date())
  const { count } = await tx`
    update idempotency_keys set
      cancellation = 'in_progress',
      expires_at = greatest(expires_at, now() + ${retentionSeconds} * interval '1 second')
    where tenant_id = ${operation.tenantId} and id = ${operation.id} and cancellation is null
      and (status <> 'completed' or operation = any(${[...undoableOperations]}::text[]))
  `
  if (count === 1) await addProviderEvents(tx, [event], PROVIDER_EVENTS_QUEUE)
  return count === 1
}

/** An operation whose client wants it undone. */
export type CanceledOperation = Pick<
  ObjectOf<RowOf<typeof idempotencyKeys>>,
  'operation' | 'status' | 'responseStatus'
>

/** Finds an operation whose cancellation is in progress. */
export async function findCancellation(
  sql: Sql,
  { tenantId, id }: OperationRef,
): Promise<CanceledOperation | undefined> {
  const [row] = await asTenant(sql, tenantId)<CanceledOperation[]>`
    select operation, status, response_status as "responseStatus" from idempotency_keys
    where tenant_id = ${tenantId} and id = ${id} and cancellation = 'in_progress'
  `
  return row
}

/** Records what became of a cancellation that is in progress. */
export async function endCancellation(
  sql: Sql,
  { tenantId, id }: OperationRef,
  cancellation: Exclude<CancellationStatus, 'in_progress'>,
): Promise<void> {
  await asTenant(sql, tenantId)`
    update idempotency_keys set cancellation = ${cancellation}
    where tenant_id = ${tenantId} and id = ${id} and cancellation = 'in_progress'
  `
}
