// Tests the secrets that `npm start` makes: each is stored in a private file, and used again.
import { stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import {
  readAdminApiKey,
  readDemoApiKey,
  readEncryptionKeys,
} from '../../../dev/stack/generated-secrets.ts'
import { readConfig } from '../../../src/config.ts'
import { encryptionKeyOf } from '../../support/encryption.ts'
import { database } from '../../support/own-store.ts'
import { makeTemporaryFolder } from '../../support/temporary-folder.ts'

const readKeys = (settings: Parameters<typeof readEncryptionKeys>[0]) =>
  readEncryptionKeys(settings, database.url)

test.each<[string, string, (folder: string) => Promise<unknown>, object]>([
  [
    'DEMO_API_KEY',
    'demo-api-key',
    (DATA_DIR) => readDemoApiKey({ DATA_DIR, DEMO_API_KEY: undefined }),
    /^sk_atomic_[0-9A-Za-z]{38}$/,
  ],
  [
    'ADMIN_API_KEY',
    'admin-api-key',
    (DATA_DIR) => readAdminApiKey({ DATA_DIR, ADMIN_API_KEY: undefined }),
    /^adm_[0-9a-f]{40}$/,
  ],
  [
    'ENCRYPTION_KEYS',
    'encryption-keys',
    async (DATA_DIR) => (await readKeys({ DATA_DIR, ENCRYPTION_KEYS: undefined })).ENCRYPTION_KEYS,
    /^local:/,
  ],
])('generates and stores a private key when %s is unset', async (name, file, read, form) => {
  const folder = await makeTemporaryFolder()

  const first = await read(folder)

  expect(first).toMatch(form as RegExp)
  expect(() => readConfig({ [name]: String(first) })).not.toThrow()
  expect(await read(folder)).toBe(first)
  expect(await read(await makeTemporaryFolder())).not.toBe(first)
  expect((await stat(join(folder, file))).mode & 0o777).toBe(0o600)
})

test('generates no key that is set', async () => {
  const DATA_DIR = await makeTemporaryFolder()
  const { ENCRYPTION_KEYS } = readConfig({ ENCRYPTION_KEYS: encryptionKeyOf('own', 1) })
  const ADMIN_API_KEY = [{ name: 'alice', role: 'operator' as const, key: 'adm_1' }]

  expect(await readKeys({ DATA_DIR, ENCRYPTION_KEYS })).toEqual({})
  expect(await readAdminApiKey({ DATA_DIR, ADMIN_API_KEY })).toBeUndefined()
})

test('keeps a stored key of the earlier format without a checksum', async () => {
  const folder = await makeTemporaryFolder()
  const kept = `sk_demo_${'0a'.repeat(20)}`
  await writeFile(join(folder, 'demo-api-key'), kept)

  expect(await readDemoApiKey({ DATA_DIR: folder, DEMO_API_KEY: undefined })).toBe(kept)
})
