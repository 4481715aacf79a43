// Ids of the rows in the model. An id encodes the key that it belongs to, and the key's life: 1 for
// the first reservation of the key, 2 for the second one after it expired, and so on.
import { MODEL_ID_PREFIX } from './symbols.ts'

const idOf = (kind: number, key: number, life: number): string =>
  `${MODEL_ID_PREFIX}${String(kind).padStart(2, '0')}-${String(key * 100 + life).padStart(12, '0')}`

export const TENANT_ID = idOf(0, 0, 1)
/** The payment whose refunds are explored. */
export const REFUNDED_PAYMENT_ID = idOf(4, 0, 1)

/**
 * @param key number of the client's key.
 * @param life which reservation of the key, from 1.
 */
export const operationIdOf = (key: number, life: number): string => idOf(1, key, life)
export const paymentIdOf = (key: number, life: number): string => idOf(2, key, life)
export const refundIdOf = (key: number, life: number): string => idOf(3, key, life)

const OPERATION_OR_RESOURCE = new RegExp(`${MODEL_ID_PREFIX}0[1-3]-`)

/** Whether the parameters name an operation, or a payment or refund that an operation created. */
export function namesOperation(parameters: readonly unknown[]): boolean {
  return OPERATION_OR_RESOURCE.test(JSON.stringify(parameters))
}

/** The key and the life that an id belongs to. */
export function ownerOf(id: string): { readonly key: number; readonly life: number } {
  const number = Number(id.slice(-12))
  return { key: Math.floor(number / 100), life: number % 100 }
}

/** The idempotency key that a client sends for a key of the model. */
export const nameOfKey = (key: number): string => `key-${key}`
export const keyOfName = (name: string): number => Number(name.slice('key-'.length))
