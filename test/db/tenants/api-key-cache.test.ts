// For how long a process takes an API key for one that works: no longer than it does. Here no time passes
// unless a test says so, so that what ends a key is never the time.
import { createHash, randomUUIDv7 } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import {
  findApiKey,
  makeApiKey,
  revokeKeyIfNotRevoked,
  rotateKeyIfActive,
} from '../../../src/db/tenants/api-keys.ts'
import type { Sql, Store } from '../../../src/db/connection/client.ts'
import { createApiKeyCache, type ApiKeyCache } from '../../../src/db/tenants/api-key-cache.ts'
import { createTenant, setTenantDisabled } from '../../../src/db/tenants/tenants.ts'
import { inTransaction } from '../../../src/db/connection/transaction.ts'
import { parseKeyId, showKeyId, type ApiKey } from '../../../src/domain/tenants/api-key.ts'
import { showTenantId } from '../../../src/domain/tenants/tenant.ts'
import { runCommandLine } from '../../../src/start/tenants/run.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database.ts'
import { openTestStore } from '../reservations.ts'

const SECONDS = 5

let database: TestDatabase
let store: Store
let holders: ApiKeyCache
let nowMs: number
let apiKey: string
let tenantId: string
let keyId: string

beforeAll(async () => {
  database = await createTestDatabase()
  store = openTestStore(database.url)
  holders = createApiKeyCache(store, SECONDS, () => nowMs)
})
beforeEach(async () => {
  nowMs = 0
  apiKey = makeApiKey()
  tenantId = await createTenant(store, { name: 'one', apiKey })
  await until(async () => {
    keyId = parseKeyId((await holders.find(apiKey))?.keyId ?? '') ?? ''
    return isKnown()
  })
})
afterAll(async () => {
  await store.close()
  await database.drop()
})

const isKnown = (key = apiKey) => holders.recall(key) !== undefined

/** Fails by the time limit of its test. */
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await delay(1)
}

/** A store that hears what a test lets it hear. */
function deafStore(sql: Sql = store.sql) {
  const told = { heard: () => {}, turned: (_isListening: boolean) => {} }
  const deaf: Store = {
    ...store,
    sql,
    listen: (_channel, heard, turned) => void Object.assign(told, { heard, turned }),
  }
  return { deaf, told }
}

/** The same connection; calls something when rows have arrived that nobody has read. */
function followed(sql: Sql, call: () => void): Sql {
  return new Proxy(sql, {
    apply(target, self, parts: unknown[]) {
      // A part of another statement is never waited for.
      const statement = Reflect.apply(target, self, parts) as Promise<unknown>
      const rows = () => Object.getPrototypeOf(statement).then.call(statement, noted)
      const noted = (read: unknown) => {
        call()
        return read
      }
      return Object.assign(statement, {
        // oxlint-disable-next-line unicorn/no-thenable -- so is the pool's own.
        then: (...handlers: Parameters<Promise<unknown>['then']>) => rows().then(...handlers),
      })
    },
  })
}

test('a key that works is known as whose it is', () => {
  expect(holders.recall(apiKey)).toMatchObject({ tenantId, keyId: showKeyId(keyId), scopes: ['*'] })
})

test('a key is known for so many seconds, and no longer', async () => {
  nowMs = SECONDS * 1_000 - 1
  expect(isKnown()).toBe(true)
  nowMs = SECONDS * 1_000
  expect(isKnown()).toBe(false)

  await holders.find(apiKey)
  expect(isKnown()).toBe(true)
})

test('with zero seconds no key is ever known, and nobody listens', async () => {
  let listens = false
  const asking = createApiKeyCache({ ...store, listen: () => (listens = true) }, 0)

  expect(await asking.find(apiKey)).toMatchObject({ tenantId })
  expect(asking.recall(apiKey)).toBeUndefined()
  expect(listens).toBe(false)
})

describe('a key that does not work is never known:', () => {
  const byTenant = (column: string) => store.sql`
    update api_keys set ${store.sql(column)} = now() where tenant_id = ${tenantId}
  `
  test.each<[string, () => Promise<unknown>, (() => string)?]>([
    ['one that is revoked', () => byTenant('revoked_at')],
    ['one that has expired', () => byTenant('expires_at')],
    ['one of a disabled tenant', () => setTenantDisabled(store.sql, tenantId, true)],
    ['one that nobody has', async () => {}, makeApiKey],
    ['one with another end', async () => {}, () => `${apiKey.slice(0, -6)}000000`],
    ['a text that is none', async () => {}, () => 'nonsense'],
    ['an empty text', async () => {}, () => ''],
  ])('%s', async (_, end, sent = () => apiKey) => {
    await end()
    holders.forget()
    const text = sent()

    expect(await holders.find(text)).toBeUndefined()
    expect(isKnown(text)).toBe(false)
  })
})

describe('a known key ends at once', () => {
  const run = async (...args: string[]) => {
    const { complaint } = await runCommandLine(args, () => openTestStore(database.url, 1))
    expect(complaint).toBe('')
  }
  test.each<[string, () => Promise<unknown>]>([
    [
      'when it is revoked',
      () => inTransaction(store.sql, (tx) => revokeKeyIfNotRevoked(tx, keyId)),
    ],
    ['when the command line revokes it', () => run('revoke-key', showKeyId(keyId))],
    [
      'when the command line rotates it without grace',
      () => run('rotate-key', showKeyId(keyId), '--grace-hours', '0'),
    ],
    ['when its tenant is disabled', () => run('disable', showTenantId(tenantId))],
    ['when this process ends one', async () => holders.forget()],
  ])('%s', async (_, end) => {
    expect(isKnown()).toBe(true)
    await end()
    await until(() => !isKnown())
  })

  test('when it expires, however many seconds are left', async () => {
    const [graceSeconds, key] = [2, await findApiKey(store.sql, keyId)]
    await inTransaction(store.sql, (tx) => rotateKeyIfActive(tx, key as ApiKey, graceSeconds))
    await until(() => !isKnown())
    await holders.find(apiKey)

    expect(isKnown()).toBe(true)
    nowMs = graceSeconds * 1_000
    expect(isKnown()).toBe(false)
  })

  test('but not when the revocation is rolled back', async () => {
    const undone = inTransaction(store.sql, async (tx) => {
      await revokeKeyIfNotRevoked(tx, keyId)
      throw new Error('undone')
    })
    await expect(undone).rejects.toThrow('undone')
    // Notifications arrive in order: this one would come behind.
    const { promise, resolve } = Promise.withResolvers<void>()
    const later = await store.sql.listen('later', () => resolve())
    await store.sql.notify('later', '')
    await promise
    await later.unlisten()

    expect(isKnown()).toBe(true)
  })
})

describe('a process that would not hear of an end knows no key', () => {
  test('before it listens', async () => {
    const { deaf, told } = deafStore()
    const early = createApiKeyCache(deaf, SECONDS)
    await early.find(apiKey)
    expect(early.recall(apiKey)).toBeUndefined()

    told.turned(true)
    await early.find(apiKey)
    expect(early.recall(apiKey)).toMatchObject({ tenantId })
  })

  test('when its connection is lost, until it has another one', async () => {
    const [row] = await store.sql<{ pid: number }[]>`
      select pid from pg_stat_activity
      where datname = current_database() and query ilike 'listen %api_keys_ended%'
    `
    await store.sql`select pg_terminate_backend(${row?.pid ?? 0})`
    await until(() => !isKnown())

    await until(async () => {
      await holders.find(apiKey)
      return isKnown()
    })
    await inTransaction(store.sql, (tx) => revokeKeyIfNotRevoked(tx, keyId))
    await until(() => !isKnown())
  })

  test.each<[string, (told: ReturnType<typeof deafStore>['told']) => void]>([
    ['the end is heard', ({ heard }) => heard()],
    ['the connection is lost', ({ turned }) => turned(false)],
    [
      'the connection is lost and made again',
      ({ turned }) => [false, true].forEach((isListening) => turned(isListening)),
    ],
  ])('nor remembers an answer before which %s', async (_, happen) => {
    const { deaf, told } = deafStore(followed(store.sql, () => happen(told)))
    const racing = createApiKeyCache(deaf, SECONDS)
    told.turned(true)

    expect(await racing.find(apiKey)).toMatchObject({ tenantId })
    expect(racing.recall(apiKey)).toBeUndefined()
  })
})

test('of more than 10,000 keys the one that was asked for first is forgotten', async () => {
  let asked = ''
  const anyone = new Proxy(store.sql, {
    apply: async () => [
      {
        tenant_id: asked,
        id: randomUUIDv7(),
        works_seconds: null,
        secret_hash: createHash('sha256').update(asked).digest(),
      },
    ],
  })
  const { deaf, told } = deafStore(anyone)
  const many = createApiKeyCache(deaf, SECONDS, () => 0)
  told.turned(true)
  for (let number = 0; number <= 10_000; number += 1) {
    asked = `key ${number}`
    await many.find(asked)
  }

  const known = ['key 0', 'key 1', 'key 10000'].map((key) => many.recall(key)?.tenantId)
  expect(known).toEqual([undefined, 'key 1', 'key 10000'])
})
