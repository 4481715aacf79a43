import { stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { readDemoApiKey } from '../../../dev/stack/generated-secrets.ts'
import { makeTemporaryFolder } from '../../support/temporary-folder.ts'

test('generates and stores a private key when DEMO_API_KEY is unset', async () => {
  const folder = await makeTemporaryFolder()
  const settings = { DATA_DIR: folder, DEMO_API_KEY: undefined }

  const first = await readDemoApiKey(settings)

  expect(first).toMatch(/^sk_atomic_[0-9A-Za-z]{38}$/)
  expect(await readDemoApiKey(settings)).toBe(first)
  expect((await stat(join(folder, 'demo-api-key'))).mode & 0o777).toBe(0o600)
})

test('keeps a stored key of the earlier format without a checksum', async () => {
  const folder = await makeTemporaryFolder()
  const kept = `sk_demo_${'0a'.repeat(20)}`
  await writeFile(join(folder, 'demo-api-key'), kept)

  expect(await readDemoApiKey({ DATA_DIR: folder, DEMO_API_KEY: undefined })).toBe(kept)
})
