// The states of an operation, the work behind one idempotency key, and the response that ends it.

/**
 * Who may act on an operation. `pending` waits for a worker, `processing` is leased by one,
 * `completed` has its response stored, `failed_retryable` is proved to have done nothing and runs
 * again when its client retries, `unknown` may have happened and is the reconciler's alone.
 */
export const operationStatuses = [
  'pending',
  'processing',
  'completed',
  'failed_retryable',
  'unknown',
] as const
export type OperationStatus = (typeof operationStatuses)[number]

/** A step from one status to another, and who takes it, how. */
export interface OperationMove {
  readonly from: OperationStatus | 'new' | 'gone'
  readonly to: OperationStatus | 'new' | 'gone'
  readonly by: string
}

/**
 * Every way out of every status. The diagram in ARCHITECTURE.md is this table, and a test puts the
 * statements to operations of each status and finds these steps, and no other.
 */
// prettier-ignore
export const operationMoves: readonly OperationMove[] = [
  { from: 'new',              to: 'pending',          by: 'the intent' },
  { from: 'new',              to: 'completed',        by: 'a local operation' },
  { from: 'pending',          to: 'processing',       by: 'a worker, with a lease' },
  { from: 'processing',       to: 'processing',       by: 'a worker, after the lease ran out' },
  { from: 'processing',       to: 'completed',        by: 'its worker, with the response' },
  { from: 'processing',       to: 'pending',          by: 'its worker, to be tried again' },
  { from: 'processing',       to: 'pending',          by: 'its worker, when it is told to stop' },
  { from: 'processing',       to: 'failed_retryable', by: 'its worker, out of tries, and nothing happened' },
  { from: 'processing',       to: 'unknown',          by: 'its worker, out of tries or too late, and it may have happened' },
  { from: 'processing',       to: 'pending',          by: 'the sweeper, when the lease ran out and the phase may be repeated' },
  { from: 'processing',       to: 'unknown',          by: 'the sweeper, when the lease ran out and it may not' },
  { from: 'failed_retryable', to: 'pending',          by: 'the client, or an operator, by a retry' },
  { from: 'failed_retryable', to: 'completed',        by: 'the reaper, with a timeout, when nothing was begun' },
  { from: 'unknown',          to: 'processing',       by: 'the reconciler, when it is found' },
  { from: 'unknown',          to: 'failed_retryable', by: 'the reconciler, or an operator, when its absence is proved' },
  { from: 'completed',        to: 'gone',             by: 'the reaper, after the retention' },
]

/**
 * The operations that write to our own store and nothing else. They are about no payment, need no
 * phases, and are accepted, done and answered in one transaction.
 */
export const localOperations = [
  'webhook_endpoint.create',
  'webhook_endpoint.rotate_secret',
  'webhook_endpoint.delete',
  'webhook_delivery.redeliver',
] as const
export type LocalOperation = (typeof localOperations)[number]

/** Names one operation: the key of its row. */
export interface OperationRef {
  readonly tenantId: string
  readonly id: string
}

/** A final answer, stored once and replayed byte for byte. */
export interface StoredResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}
