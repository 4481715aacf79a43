// Tests that a process caches an API key no longer than it works. The clock of the cache stands
// still unless a test moves it, so that entries never expire by time.
import { createHash, randomUUIDv7 } from 'node:crypto'
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import {
  findApiKey,
  makeApiKey,
  revokeKeyIfNotRevoked,
  rotateKeyIfActive,
} from '../../../src/db/tenants/api-keys.ts'
import type { Sql, Store } from '../../../src/db/connection/client.ts'
import { createApiKeyCache, type ApiKeyCache } from '../../../src/http/server/api-key-cache.ts'
import {
  createTenant,
  setTenantDisabled,
  changeTenantLimits,
} from '../../../src/db/tenants/tenants.ts'
import { inTransaction } from '../../../src/db/connection/transaction.ts'
import { parseKeyId, showKeyId, type ApiKey } from '../../../src/domain/tenants/api-key.ts'
import { showTenantId } from '../../../src/domain/tenants/tenant.ts'
import { runCommandLine } from '../../../src/start/tenants/run.ts'
import { openTestStore } from '../../db/reservations.ts'
import { until } from '../../support/until.ts'
import { database, store } from '../../support/own-store.ts'
import { watchSql } from '../../support/watched-sql.ts'

const SECONDS = 5

let cache: ApiKeyCache
let nowMs: number
let apiKey: string
let tenantId: string
let keyId: string

beforeAll(async () => {
  cache = createApiKeyCache(store, SECONDS, () => nowMs)
})
beforeEach(async () => {
  nowMs = 0
  apiKey = makeApiKey()
  tenantId = await createTenant(store, { name: 'one', apiKey })
  await until(async () => {
    keyId = parseKeyId((await cache.find(apiKey))?.keyId ?? '') ?? ''
    return isCached()
  })
})
const isCached = (key = apiKey) => cache.recall(key) !== undefined

/** A store whose notifications the test sends. */
function controlledStore(sql: Sql = store.sql) {
  const callbacks = { onNotify: () => {}, onListening: (_isListening: boolean) => {} }
  const controlled: Store = {
    ...store,
    sql,
    listen: (_channel, onNotify, onListening) =>
      void Object.assign(callbacks, { onNotify, onListening }),
  }
  return { controlled, callbacks }
}

/** Wraps the connection: calls `call` after rows arrived and before the caller gets them. */
function afterRows(sql: Sql, call: () => void): Sql {
  return watchSql(sql, (text, make) => {
    if (!/^\s*select/.test(text)) return make()
    return make().then((rows) => {
      call()
      return rows
    })
  })
}

test('caches the tenant, the id and the scopes of a working key', () => {
  expect(cache.recall(apiKey)).toMatchObject({ tenantId, keyId: showKeyId(keyId), scopes: ['*'] })
})

test('caches a key for the given number of seconds', async () => {
  nowMs = SECONDS * 1_000 - 1
  expect(isCached()).toBe(true)
  nowMs = SECONDS * 1_000
  expect(isCached()).toBe(false)

  await cache.find(apiKey)
  expect(isCached()).toBe(true)
})

test('caches nothing with 0 seconds, and does not listen', async () => {
  let listens = false
  const disabled = createApiKeyCache({ ...store, listen: () => (listens = true) }, 0)

  expect(await disabled.find(apiKey)).toMatchObject({ tenantId })
  expect(disabled.recall(apiKey)).toBeUndefined()
  expect(listens).toBe(false)
})

describe('never caches a key that does not work:', () => {
  const byTenant = (column: string) => store.sql`
    update api_keys set ${store.sql(column)} = now() where tenant_id = ${tenantId}
  `
  test.each<[string, () => Promise<unknown>, (() => string)?]>([
    ['a revoked key', () => byTenant('revoked_at')],
    ['an expired key', () => byTenant('expires_at')],
    ['a key of a disabled tenant', () => setTenantDisabled(store.sql, tenantId, true)],
    ['an unknown key', async () => {}, makeApiKey],
    ['a key with another end', async () => {}, () => `${apiKey.slice(0, -6)}000000`],
    ['a text that is not a key', async () => {}, () => 'nonsense'],
    ['an empty text', async () => {}, () => ''],
  ])('%s', async (_, end, presented = () => apiKey) => {
    await end()
    cache.forget()
    const text = presented()

    expect(await cache.find(text)).toBeUndefined()
    expect(isCached(text)).toBe(false)
  })
})

describe('drops a cached key at once', () => {
  const run = async (...args: string[]) => {
    const { errorOutput } = await runCommandLine(args, () => openTestStore(database.url, 1))
    expect(errorOutput).toBe('')
  }
  test.each<[string, () => Promise<unknown>]>([
    [
      'when its tenant gets a least length',
      () => changeTenantLimits(store.sql, tenantId, { KEY_LENGTH_MIN: 36 }),
    ],
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
    ['when this process ends a key', async () => cache.forget()],
  ])('%s', async (_, end) => {
    expect(isCached()).toBe(true)
    await end()
    await until(() => !isCached())
  })

  test('when it expires before the cache entry does', async () => {
    const [graceSeconds, key] = [2, await findApiKey(store.sql, keyId)]
    await inTransaction(store.sql, (tx) => rotateKeyIfActive(tx, key as ApiKey, graceSeconds))
    await until(() => !isCached())
    await cache.find(apiKey)

    expect(isCached()).toBe(true)
    nowMs = graceSeconds * 1_000
    expect(isCached()).toBe(false)
  })

  test('but not when the revocation is rolled back', async () => {
    const rolledBack = inTransaction(store.sql, async (tx) => {
      await revokeKeyIfNotRevoked(tx, keyId)
      throw new Error('rolled back')
    })
    await expect(rolledBack).rejects.toThrow('rolled back')
    // Notifications arrive in order: this one would arrive after the announcement.
    const { promise, resolve } = Promise.withResolvers<void>()
    store.listen(
      'later',
      () => resolve(),
      (isListening) => {
        if (isListening) store.sql`select pg_notify('later', '')`.catch(() => {})
      },
    )
    await promise

    expect(isCached()).toBe(true)
  })
})

describe('caches no key', () => {
  test('before the process listens', async () => {
    const { controlled, callbacks } = controlledStore()
    const early = createApiKeyCache(controlled, SECONDS)
    await early.find(apiKey)
    expect(early.recall(apiKey)).toBeUndefined()

    callbacks.onListening(true)
    await early.find(apiKey)
    expect(early.recall(apiKey)).toMatchObject({ tenantId })
  })

  test('after its connection is lost, until it is connected again', async () => {
    // Its last statement may be one that checks the connection.
    await until(async () => {
      const ended = await store.sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and query ilike 'listen %'
      `
      return ended.length === 1
    })
    await until(() => !isCached())

    await until(async () => {
      await cache.find(apiKey)
      return isCached()
    })
    await inTransaction(store.sql, (tx) => revokeKeyIfNotRevoked(tx, keyId))
    await until(() => !isCached())
  })

  test.each<[string, (callbacks: ReturnType<typeof controlledStore>['callbacks']) => void]>([
    ['the end of a key is announced', ({ onNotify }) => onNotify()],
    ['the connection is lost', ({ onListening }) => onListening(false)],
    [
      'the connection is lost and opened again',
      ({ onListening }) => [false, true].forEach((isListening) => onListening(isListening)),
    ],
  ])('when %s before the answer', async (_, happen) => {
    const { controlled, callbacks } = controlledStore(afterRows(store.sql, () => happen(callbacks)))
    const racing = createApiKeyCache(controlled, SECONDS)
    callbacks.onListening(true)

    expect(await racing.find(apiKey)).toMatchObject({ tenantId })
    expect(racing.recall(apiKey)).toBeUndefined()
  })
})

test('evicts the oldest of more than 10,000 keys', async () => {
  let requested = ''
  const answer = async () => [
    {
      tenant_id: requested,
      id: randomUUIDv7(),
      works_seconds: null,
      secret_hash: createHash('sha256').update(requested).digest(),
    },
  ]
  // Of a transaction, so that the statement is sent as it is.
  const { controlled, callbacks } = controlledStore(answer as unknown as Sql)
  const many = createApiKeyCache(controlled, SECONDS, () => 0)
  callbacks.onListening(true)
  for (let number = 0; number <= 10_000; number += 1) {
    requested = `key ${number}`
    await many.find(requested)
  }

  const tenantIds = ['key 0', 'key 1', 'key 10000'].map((key) => many.recall(key)?.tenantId)
  expect(tenantIds).toEqual([undefined, 'key 1', 'key 10000'])
})
