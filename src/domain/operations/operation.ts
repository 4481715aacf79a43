// Defines an operation (the work behind one idempotency key): its statuses, the transitions between
// them, and its stored response.

/**
 * Who may act on an operation. `pending`: it waits for a worker. `processing`: a worker owns its
 * lease. `completed`: its response is stored. `failed_retryable`: nothing happened, by proof or
 * by what is known; it runs again when its client retries. `unknown`: it may have happened;
 * only the outcome resolver may act.
 */
export const operationStatuses = [
  'pending',
  'processing',
  'completed',
  'failed_retryable',
  'unknown',
] as const
export type OperationStatus = (typeof operationStatuses)[number]

/** A transition from one status to another, and who makes it. */
export interface OperationMove {
  readonly from: OperationStatus | 'new' | 'gone'
  readonly to: OperationStatus | 'new' | 'gone'
  readonly by: string
}

/**
 * Every transition of every status. The diagram in ARCHITECTURE.md shows this table. A test runs
 * the SQL statements on operations of each status and finds these transitions and no others.
 */
// prettier-ignore
export const operationMoves: readonly OperationMove[] = [
  { from: 'new',              to: 'pending',          by: 'the first request' },
  { from: 'new',              to: 'completed',        by: 'a local operation' },
  { from: 'pending',          to: 'processing',       by: 'a worker, with a lease' },
  { from: 'pending',          to: 'completed',        by: 'its client, by a cancellation, when nothing was executed' },
  { from: 'processing',       to: 'processing',       by: 'another worker, after the lease expired' },
  { from: 'processing',       to: 'completed',        by: 'its worker, with the response' },
  { from: 'processing',       to: 'pending',          by: 'its worker, to retry it later' },
  { from: 'processing',       to: 'pending',          by: 'its worker, when it shuts down' },
  { from: 'processing',       to: 'failed_retryable', by: 'its worker, out of tries, when nothing happened' },
  { from: 'processing',       to: 'unknown',          by: 'its worker, out of tries or too late, when it may have happened' },
  { from: 'processing',       to: 'pending',          by: 'the sweeper, when the lease expired and the phase may be repeated' },
  { from: 'processing',       to: 'unknown',          by: 'the sweeper, when the lease expired and the phase may not be repeated' },
  { from: 'failed_retryable', to: 'pending',          by: 'the client or an operator, by a retry' },
  { from: 'failed_retryable', to: 'completed',        by: 'its client, by a cancellation, when nothing was executed' },
  { from: 'failed_retryable', to: 'completed',        by: 'the reaper, with a timeout, when nothing was executed' },
  { from: 'failed_retryable', to: 'completed',        by: 'the reaper, when another request has ended the payment' },
  { from: 'unknown',          to: 'processing',       by: 'the outcome resolver, when it finds the outcome' },
  { from: 'unknown',          to: 'failed_retryable', by: 'the outcome resolver, when it finds nothing and a repetition is safe, or operators state it' },
  { from: 'completed',        to: 'gone',             by: 'the reaper, after the retention period' },
]

/**
 * The recovery points before the first call that was executed. `moved`: the first provider executed
 * nothing, and the payment goes on at another one.
 */
export const pointsWithoutEffect = ['started', 'moved'] as const

/**
 * The operations that only write to our own database. They concern no payment, need no phases, and
 * are accepted, executed and answered in one transaction.
 */
export const localOperations = [
  'webhook_endpoint.create',
  'webhook_endpoint.update',
  'webhook_endpoint.rotate_secret',
  'webhook_endpoint.replay',
  'webhook_endpoint.test',
  'webhook_endpoint.delete',
  'webhook_delivery.redeliver',
  'idempotency_key.cancel',
] as const
export type LocalOperation = (typeof localOperations)[number]

/** Identifies one operation: the primary key of its row. */
export interface OperationRef {
  readonly tenantId: string
  readonly id: string
}

/** A final response. It is stored once and replayed byte for byte. */
export interface StoredResponse {
  /** The form in which it was stored; absent for one that is not stored yet. */
  readonly version?: number
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}
