// The encryption keys of the tests: each test file decrypts what the processes that it starts have
// encrypted. Jest runs this before each file.
import { createEncryption, useEncryption } from '../../src/encryption/encryption.ts'
import { encryptionKeys } from '../../src/config-formats.ts'

/** The setting of a key whose bytes all have this value. */
export const encryptionKeyOf = (name: string, byte: number): string =>
  `${name}:${Buffer.alloc(32, byte).toString('base64')}`

export const ENCRYPTION_KEYS = encryptionKeyOf('test', 7)

/** Makes this process use the keys of a setting. */
export function useKeys(setting: string): void {
  useEncryption(createEncryption(encryptionKeys.parse(setting)))
}

useKeys(ENCRYPTION_KEYS)
