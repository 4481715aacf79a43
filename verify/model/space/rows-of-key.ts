// Finds the rows of a key in a store.
import { keyOfName, ownerOf, REFUNDED_PAYMENT_ID } from '../programs/ids.ts'
import type { Database } from '../store/database.ts'
import { toText, type Row } from '../store/rows.ts'

export const rowOfKey = (database: Database, key: number): Row | undefined =>
  database['idempotency_keys']?.find((row) => keyOfName(toText(row['key'])) === key)

/** How often a key was reserved: the payments and refunds that it created are never deleted. */
export function livesOf(database: Database, key: number): number {
  const resources = [...(database['payments'] ?? []), ...(database['refunds'] ?? [])]
  const own = resources.filter(
    ({ id }) => id !== REFUNDED_PAYMENT_ID && ownerOf(toText(id)).key === key,
  )
  return own.length
}
