// Maps the rows of idempotency keys to what clients may see of them.
import type { CancellationStatus } from '../../domain/idempotency/cancellation.ts'
import type { ValidatedFingerprint } from '../../domain/idempotency/fingerprint.ts'
import type { Tombstone } from '../../domain/idempotency/tombstone.ts'
import type {
  OperationRef,
  OperationStatus,
  StoredResponse,
} from '../../domain/operations/operation.ts'
import type { Sql, Transaction } from '../connection/client.ts'
import { responseBody } from '../encryption/encrypted-values.ts'
import { tombstoneFromRow } from './key-tombstones.ts'
import type { idempotencyKeys } from '../schema/idempotency-keys.ts'
import type { RowOf } from '../schema/row-of.ts'

/** An idempotency key, as its client may see it. */
export interface IdempotencyKey extends OperationRef {
  readonly key: string
  /** Of the request as it was sent. */
  readonly fingerprint: Buffer
  /** Null for an operation of our own, which has no request. */
  readonly validated: ValidatedFingerprint | null
  readonly operation: string
  /** Null for a local operation. */
  readonly paymentId: string | null
  readonly refundId: string | null
  readonly status: OperationStatus
  readonly recoveryPoint: string
  readonly attempts: number
  /**
   * Until the lease of a running operation ends, or an unknown outcome is looked up next. Null when
   * neither is scheduled.
   */
  readonly dueInSeconds: number | null
  readonly createdAt: Date
  readonly expiresAt: Date
  /** The tombstone of the expired key, when this is not the key's first operation. */
  readonly earlier: Tombstone | null
  /** What became of the client's request to cancel the key; null when there is none. */
  readonly cancellation: CancellationStatus | null
  readonly response: StoredResponse | null
}

export type KeyRow = Pick<
  RowOf<typeof idempotencyKeys>,
  | 'tenant_id'
  | 'id'
  | 'key'
  | 'fingerprint'
  | 'fingerprint_version'
  | 'validated_fingerprint'
  | 'operation'
  | 'payment_id'
  | 'refund_id'
  | 'status'
  | 'recovery_point'
  | 'attempts'
  | 'created_at'
  | 'expires_at'
  | 'earlier'
  | 'cancellation'
  | 'response_version'
  | 'response_status'
  | 'response_headers'
  | 'response_body'
> & {
  /** Absent for a row that was changed: see `idleKeyColumns`. */
  readonly due_in_seconds?: number | null
}

export function keyFromRow(row: KeyRow): IdempotencyKey {
  return {
    tenantId: row.tenant_id,
    id: row.id,
    key: row.key,
    fingerprint: row.fingerprint,
    validated: row.validated_fingerprint && {
      version: row.fingerprint_version,
      fingerprint: row.validated_fingerprint,
    },
    operation: row.operation,
    paymentId: row.payment_id,
    refundId: row.refund_id,
    status: row.status,
    recoveryPoint: row.recovery_point,
    attempts: row.attempts,
    dueInSeconds: row.due_in_seconds ?? null,
    createdAt: new Date(row.created_at),
    expiresAt: new Date(row.expires_at),
    earlier: row.earlier && tombstoneFromRow(row.earlier),
    cancellation: row.cancellation,
    response: responseFromRow(row),
  }
}

/**
 * The body is decrypted when it is read: a response that cannot be decrypted fails its own request,
 * and none of those whose keys the same statement found.
 */
function responseFromRow(row: KeyRow): StoredResponse | null {
  const { response_status: status, response_headers: headers, response_body: stored } = row
  if (status === null || headers === null || stored === null) return null
  return {
    version: row.response_version,
    status,
    headers,
    get body() {
      return responseBody.decrypt({ tenantId: row.tenant_id, id: row.id }, stored)
    },
  }
}

/** The columns of `KeyRow` of an operation that is not in progress. */
export const idleKeyColumns = (sql: Sql | Transaction) => sql`
  tenant_id, id, key, fingerprint, fingerprint_version, validated_fingerprint, operation,
  payment_id, refund_id, status, recovery_point, attempts, created_at, expires_at, earlier,
  cancellation, response_version, response_status, response_headers, response_body
`

/** The columns of `KeyRow`. */
export const keyColumns = (sql: Sql | Transaction) => sql`
  ${idleKeyColumns(sql)},
  -- An operation has one of the two at most.
  extract(epoch from coalesce(lease_expires_at, next_check_at) - now())::float8 as due_in_seconds
`
