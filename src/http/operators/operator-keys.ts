// Finds the operator of an operator key. The settings have the keys.
import { hash, timingSafeEqual } from 'node:crypto'
import type { ApiParts } from '../endpoint.ts'
import type { OperatorKey } from './operator.ts'

/**
 * Returns the operator key that equals the text. It compares the hashes of all keys, so that the
 * response time reveals nothing about a key.
 */
export function findOperatorKey({ settings }: ApiParts, text: string): OperatorKey | undefined {
  const textHash = hashKey(text)
  let found: OperatorKey | undefined
  for (const operatorKey of settings.ADMIN_API_KEY ?? []) {
    if (timingSafeEqual(hashKey(operatorKey.key), textHash)) found = operatorKey
  }
  return found
}

function hashKey(key: string): Buffer {
  return hash('sha256', key, 'buffer')
}
