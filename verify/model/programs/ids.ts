// The ids of the model's own rows, by which the key and the life of it that they belong to can be told.
import { MODEL_ID_PREFIX } from './symbols.ts'

const idOf = (kind: number, key: number, life: number): string =>
  `${MODEL_ID_PREFIX}${String(kind).padStart(2, '0')}-${String(key * 100 + life).padStart(12, '0')}`

export const TENANT_ID = idOf(0, 0, 1)
/** The payment whose refunds a space is about. */
export const REFUNDED_PAYMENT_ID = idOf(4, 0, 1)

/** @param key which of the client's keys. @param life how often it has been reserved by then. */
export const operationIdOf = (key: number, life: number): string => idOf(1, key, life)
export const paymentIdOf = (key: number, life: number): string => idOf(2, key, life)
export const refundIdOf = (key: number, life: number): string => idOf(3, key, life)

const OPERATION_OR_RESOURCE = new RegExp(`${MODEL_ID_PREFIX}0[1-3]-`)

/** Whether a statement is about one operation, or what one has made. */
export function namesOperation(parameters: readonly unknown[]): boolean {
  return OPERATION_OR_RESOURCE.test(JSON.stringify(parameters))
}

/** Which key and life an id is of. */
export function ownerOf(id: string): { readonly key: number; readonly life: number } {
  const number = Number(id.slice(-12))
  return { key: Math.floor(number / 100), life: number % 100 }
}

/** The client's name for a key of the model. */
export const nameOfKey = (key: number): string => `key-${key}`
export const keyOfName = (name: string): number => Number(name.slice('key-'.length))
