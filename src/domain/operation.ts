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
