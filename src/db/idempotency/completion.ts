// Parts of statements that complete operations without a worker: those that a client cancels, and those
// that the reaper ends.
import type { KeyRetention } from '../../domain/idempotency/retention.ts'
import { pointsWithoutEffect, type StoredResponse } from '../../domain/operations/operation.ts'
import { RESPONSE_VERSION } from '../../domain/operations/stored-response.ts'
import type { Fragment, Sql, Transaction } from '../connection/client.ts'

/** Whether no call was recorded as executed. One may still be in doubt. */
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
