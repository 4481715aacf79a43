import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { readConfig } from '../../../src/config.ts'
import { readAdminApiKey } from '../../../dev/stack/generated-secrets.ts'
import { makeTemporaryFolder } from '../../support/temporary-folder.ts'

test('generates and stores a private key when ADMIN_API_KEY is unset', async () => {
  const folder = await makeTemporaryFolder()
  const settings = { DATA_DIR: folder, ADMIN_API_KEY: undefined }

  const first = (await readAdminApiKey(settings)) ?? ''

  expect(first).toMatch(/^adm_[0-9a-f]{40}$/)
  expect(readConfig({ ADMIN_API_KEY: first }).ADMIN_API_KEY).toHaveLength(1)
  expect(await readAdminApiKey(settings)).toBe(first)
  expect((await stat(join(folder, 'admin-api-key'))).mode & 0o777).toBe(0o600)
})

test('generates no key when ADMIN_API_KEY is set', async () => {
  const folder = await makeTemporaryFolder()
  const ADMIN_API_KEY = [{ name: 'alice', role: 'operator' as const, key: 'adm_1' }]
  expect(await readAdminApiKey({ DATA_DIR: folder, ADMIN_API_KEY })).toBeUndefined()
})
