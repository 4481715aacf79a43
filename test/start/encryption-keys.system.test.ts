// Tests that a process whose keys do not open what the database has stored refuses to start, and that
// `npm start` makes no new key then. test/encryption/seals.test.ts tests which keys are refused.
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { encryptionKeys } from '../../src/config-formats.ts'
import { requireStoredKeys } from '../../src/encryption/seals.ts'
import type { Check } from '../../src/domain/deployment/database-checks.ts'
import { post } from '../support/client.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { encryptionKeyOf } from '../support/encryption.ts'
import { startLimitedApiOn, type LimitedApi } from '../support/limited-api.ts'
import { startProcess } from '../support/processes.ts'
import { launch } from '../support/stack.ts'
import { makeTemporaryFolder } from '../support/temporary-folder.ts'

const OLD = encryptionKeyOf('old', 1)
/** Another key that has the name of the lost one. */
const OTHER_OLD = encryptionKeyOf('old', 3)
const REASON = 'its key old is not the one that encrypted'

let database: TestDatabase
let api: LimitedApi
let settings: Record<string, string>

/** A database in which a secret is encrypted with the old key. */
beforeAll(async () => {
  database = await createTestDatabase()
  api = await startLimitedApiOn(database.url)
  await requireStoredKeys(api.store.sql, encryptionKeys.parse(OLD))
  const { url } = await api.serve({ ENCRYPTION_KEYS: OLD })
  const made = await post(url, await api.createTenant(), '/v1/webhook-endpoints', {
    url: 'https://a.example/',
  })
  expect(made.status).toBe(201)
  settings = {
    DATABASE_URL: database.url,
    STRIPE_SECRET_KEY: 'sk_test_mock',
    STRIPE_API_BASE: 'http://127.0.0.1:9',
  }
})
afterAll(async () => {
  await api.stop()
  await database.drop()
})

async function run(script: string, args: string[] = []) {
  const env = { ...settings, ENCRYPTION_KEYS: OTHER_OLD, PORT: '0' }
  const process = startProcess(script, { args, env })
  // One that starts after all ends by a signal, and so without a code.
  void process.waitUntilReady().then(
    () => process.kill('SIGKILL'),
    () => {},
  )
  const { code } = await process.exited
  return { code, text: process.lines.join('\n') }
}

const seals = () => api.store.sql`select name from encryption_seals`

test.each([
  ['src/start/api.ts', 1],
  ['workers/main.ts', 1],
  ['src/start/reconcile.ts', 2],
  ['src/start/rotate-encryption.ts', 2],
])('%s refuses to start with another key of the same name, and says what to do', async (...of) => {
  const [script, status] = of
  const { code, text } = await run(script)

  expect(code).toBe(status)
  expect(text).toContain(`ENCRYPTION_KEYS does not open what the database has stored: ${REASON}`)
  expect(text).toContain('"A lost key" in docs/runbook.md')
  expect(text).not.toMatch(/enc\.v1|\n\s+at /)
  expect(await seals()).toEqual([{ name: 'old' }])
})

test('the doctor calls it a failure', async () => {
  const { code, text } = await run('src/start/doctor.ts', ['--json'])

  expect(code).toBe(1)
  expect(JSON.parse(text) as Check[]).toContainEqual(
    expect.objectContaining({ name: 'encryption keys', verdict: 'failure', found: REASON }),
  )
  expect(await seals()).toEqual([{ name: 'old' }])
})

test('npm start makes no new key for values of a lost one, and starts with no other key', async () => {
  const DATA_DIR = await makeTemporaryFolder()
  const file = join(DATA_DIR, 'encryption-keys')
  const own = { ...settings, DATA_DIR, ENCRYPTION_KEYS: '' }

  const refused = launch(own)
  expect(await refused.exited).toEqual({ code: 1, signal: null })
  expect(refused.lines.at(-1)).toMatch(/encryption-keys is missing, but the database has values/)
  expect(existsSync(file)).toBe(false)

  await writeFile(file, OTHER_OLD)
  const replaced = launch(own)
  await replaced.waitForLine((line) => line.includes(REASON))
  expect(await replaced.exited).toEqual({ code: 1, signal: null })
  expect(await seals()).toEqual([{ name: 'old' }])
})
