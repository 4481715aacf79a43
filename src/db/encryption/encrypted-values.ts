// Encrypts what this process writes to the database and decrypts what it reads: stored responses,
// client secrets of payments, and secrets of webhook endpoints. And the answers that it keeps in Redis.
import type { Encryption } from './encryption.ts'

/**
 * The keys belong to the process, as its environment does: they are set once, when it starts.
 * Passing them with each statement would add a parameter to most functions of this folder.
 */
let encryption: Encryption | undefined

/** Must be called before the first value is read or written. */
export function useEncryption(chosen: Encryption): void {
  encryption = chosen
}

/** @throws Error when the process has not chosen its keys, so that nothing is written plainly. */
export function usedEncryption(): Encryption {
  if (encryption === undefined) throw new Error('useEncryption was not called')
  return encryption
}

interface Row {
  readonly tenantId: string
  readonly id: string
}

/** Encrypts a value of a column, and decrypts it. */
export interface EncryptedColumn {
  /** Is authenticated with each value. */
  readonly name: string
  encrypt<Text extends string | null>(row: Row, text: Text): string | Text
  decrypt<Text extends string | null>(row: Row, stored: Text): string | Text
}

export function columnOf(column: string): EncryptedColumn {
  return {
    name: column,
    encrypt({ tenantId, id }, text) {
      return text === null ? text : usedEncryption().encrypt({ tenantId, column, id }, text)
    },
    decrypt({ tenantId, id }, stored) {
      return stored === null ? stored : usedEncryption().decrypt({ tenantId, column, id }, stored)
    },
  }
}

export const responseBody = columnOf('idempotency_keys.response_body')

/** Also of the payment's events, which have a copy of its row. */
export const clientSecret = columnOf('payments.client_secret')

/** Also of the previous secrets: the statement that rotates a secret moves them there as they are. */
export const endpointSecret = columnOf('webhook_endpoints.secret')
