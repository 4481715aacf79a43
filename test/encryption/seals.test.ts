// Tests what a process checks of its keys when it starts: that they open what the database has stored.
// test/start/encryption-keys.system.test.ts shows that each process ends when they do not.
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { readConfig } from '../../src/config.ts'
import { encryptionKeys } from '../../src/config-formats.ts'
import type { Store } from '../../src/db/connection/client.ts'
import { requireStoredKeys } from '../../src/encryption/seals.ts'
import { checkDatabase } from '../../src/start/doctor/database.ts'
import { post, type ApiResponse } from '../support/client.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { encryptionKeyOf, ENCRYPTION_KEYS, useKeys } from '../support/encryption.ts'
import { startLimitedApiOn, type LimitedApi } from '../support/limited-api.ts'
import type { Tenant } from '../support/service.ts'
import { openServiceStore } from '../support/service-store.ts'

const OLD = encryptionKeyOf('old', 1)
const NEW = encryptionKeyOf('new', 2)
/** Another key that has the name of the lost one. */
const OTHER_OLD = encryptionKeyOf('old', 3)

const PATH = '/v1/webhook-endpoints'
const BODY = { url: 'https://a.example/' }

let database: TestDatabase
let api: LimitedApi
/** As the service connects. */
let service: Store
let tenant: Tenant
let stored: ApiResponse
const key = randomUUID()

const openService = () => openServiceStore(database.url, 1)

beforeAll(async () => {
  database = await createTestDatabase()
  api = await startLimitedApiOn(database.url)
  service = openService()
  tenant = await api.createTenant()
  // Its answer has a secret, and no worker is needed for it.
  const { url } = await api.serve({ ENCRYPTION_KEYS: OLD })
  stored = await post(url, tenant, PATH, BODY, { key })
  expect(stored.status).toBe(201)
})
afterEach(() => useKeys(ENCRYPTION_KEYS))
afterAll(async () => {
  await service.close()
  await api.stop()
  await database.drop()
})

const check = (keys: string, { sql } = service) =>
  requireStoredKeys(sql, encryptionKeys.parse(keys))

const forget = () => api.store.sql`delete from encryption_seals`

const seals = () => api.store.sql<{ name: string; sealed: string }[]>`
  select name, sealed from encryption_seals order by name
`

/** Repeats the request at an API that started with the keys. */
async function replay(keys: string): Promise<ApiResponse> {
  await check(keys)
  const { url } = await api.serve({ ENCRYPTION_KEYS: keys })
  return await post(url, tenant, PATH, BODY, { key })
}

const WRONG: [string, string, string][] = [
  ['another key of the same name', OTHER_OLD, 'its key old is not the one that encrypted'],
  ['a new key', NEW, 'it has no key with the name old'],
]

describe('by the sealed texts', () => {
  beforeAll(() => check(OLD))

  test.each(WRONG)('%s is refused, with what to do', async (_title, keys, reason) => {
    const before = await seals()

    const refused = check(keys)

    await expect(refused).rejects.toMatchObject({ name: 'ConfigError' })
    await expect(refused).rejects.toThrow(
      `ENCRYPTION_KEYS does not open what the database has stored: ${reason}`,
    )
    await expect(refused).rejects.toThrow('"A lost key" in docs/runbook.md')
    await expect(refused).rejects.not.toThrow('enc.v1')
    const config = readConfig({ DATABASE_URL: database.url, ENCRYPTION_KEYS: keys })
    expect(await checkDatabase(config, database.url)).toContainEqual(
      expect.objectContaining({ name: 'encryption keys', verdict: 'failure', found: reason }),
    )
    expect(await seals()).toEqual(before)
  })

  test('the key is accepted, and replays the answer', async () => {
    expect((await replay(OLD)).text).toBe(stored.text)
    expect(await seals()).toMatchObject([{ name: 'old' }])
  })
})

test('the key may be at any place of the list, while a new one is introduced', async () => {
  for (const keys of [`${OLD},${NEW}`, `${NEW},${OLD}`]) {
    expect((await replay(keys)).text).toBe(stored.text)
  }
  await expect(check(OLD)).rejects.toThrow('it has no key with the name new')
})

test.each([
  [OLD, OTHER_OLD],
  [OLD, NEW],
])('of two processes that start at once with %s and %s, one at most works', async (...keys) => {
  const stores = keys.map(openService)
  let refused = 0
  for (let round = 0; round < 20; round += 1) {
    await forget()
    const starts = await Promise.allSettled(keys.map((own, at) => check(own, stores[at])))
    const working = starts.filter(({ status }) => status === 'fulfilled').length
    expect(working).toBeLessThan(2)
    refused += keys.length - working
  }
  for (const store of stores) await store.close()
  expect(refused).toBeGreaterThan(0)
})
