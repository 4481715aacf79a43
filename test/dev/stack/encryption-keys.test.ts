import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { readConfig } from '../../../src/config.ts'
import { readEncryptionKeys } from '../../../dev/stack/generated-secrets.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database.ts'
import { encryptionKeyOf } from '../../support/encryption.ts'
import { makeTemporaryFolder } from '../../support/temporary-folder.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

test('generates and stores a private key when ENCRYPTION_KEYS is unset', async () => {
  const folder = await makeTemporaryFolder()
  const settings = { DATA_DIR: folder, ENCRYPTION_KEYS: undefined }

  const first = await readEncryptionKeys(settings, database.url)

  expect(readConfig(first).ENCRYPTION_KEYS?.first?.name).toBe('local')
  expect(await readEncryptionKeys(settings, database.url)).toEqual(first)
  expect(
    await readEncryptionKeys({ ...settings, DATA_DIR: await makeTemporaryFolder() }, database.url),
  ).not.toEqual(first)
  expect((await stat(join(folder, 'encryption-keys'))).mode & 0o777).toBe(0o600)
})

test('generates no key when ENCRYPTION_KEYS is set', async () => {
  const DATA_DIR = await makeTemporaryFolder()
  const { ENCRYPTION_KEYS } = readConfig({ ENCRYPTION_KEYS: encryptionKeyOf('own', 1) })
  expect(await readEncryptionKeys({ DATA_DIR, ENCRYPTION_KEYS }, database.url)).toEqual({})
})
