// Tests the cost of authentication: the statements sent to Postgres, the hashes and the
// comparisons. It is the same for every text, so that the response time reveals nothing. It is
// counted, because a clock is reliable only on an idle machine.
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals'
import postgres from 'postgres'
import { openStore, type Sql, type Store } from '../../../src/db/connection/client.ts'
import { authenticateKey, makeApiKey } from '../../../src/db/tenants/api-keys.ts'
import { createTenant, setTenantDisabled } from '../../../src/db/tenants/tenants.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database.ts'

/** Of a transaction, which leave with its statement. */
const FRAME = /^(begin|set local|commit)\b/

const work = { statements: [] as string[], hashes: 0, comparisons: 0 }

/** Counts the calls of a function of `node:crypto`. */
function count(name: 'hash' | 'timingSafeEqual', counter: 'hashes' | 'comparisons') {
  const call = crypto[name] as (...args: unknown[]) => unknown
  jest.spyOn(crypto, name).mockImplementation(((...args: unknown[]) => {
    work[counter] += 1
    return call(...args)
  }) as never)
}

let database: TestDatabase
let store: Store
let watchedSql: Sql

beforeAll(async () => {
  count('hash', 'hashes')
  count('timingSafeEqual', 'comparisons')
  syncBuiltinESMExports()
  database = await createTestDatabase()
  const options = { url: database.url, applicationName: 'test', poolSize: 2, timeoutMs: 10_000 }
  store = openStore(options)
  watchedSql = postgres(database.url, {
    max: 1,
    debug(_connection, statement) {
      if (!FRAME.test(statement)) work.statements.push(statement)
    },
  })
})
afterAll(async () => {
  jest.restoreAllMocks()
  syncBuiltinESMExports()
  await watchedSql.end()
  await store.close()
  await database.drop()
})

const mistyped = (apiKey: string) => apiKey.slice(0, -1) + (apiKey.endsWith('0') ? '1' : '0')
const end = (id: string, column: string) =>
  store.sql`update api_keys set ${store.sql(column)} = now() where tenant_id = ${id}`

interface Case {
  readonly title: string
  readonly text?: (apiKey: string) => string
  readonly endedBy?: (tenantId: string) => Promise<unknown>
}

const cases: Case[] = [
  { title: 'a key that works' },
  { title: 'a revoked key', endedBy: (id) => end(id, 'revoked_at') },
  { title: 'an expired key', endedBy: (id) => end(id, 'expires_at') },
  { title: 'a key of a disabled tenant', endedBy: (id) => setTenantDisabled(store.sql, id, true) },
  { title: 'an unknown key', text: () => makeApiKey() },
  { title: 'a key with a wrong checksum', text: mistyped },
  { title: 'a truncated key', text: (apiKey) => apiKey.slice(0, -3) },
  { title: 'a text that is no key', text: () => 'nonsense' },
  { title: 'an empty text', text: () => '' },
]

test.each(cases)('$title takes one statement, one hash and one comparison', async (testCase) => {
  const { text = (apiKey: string) => apiKey, endedBy } = testCase
  const apiKey = makeApiKey()
  const id = await createTenant(store, { name: 'one', apiKey })
  await endedBy?.(id)
  const presented = text(apiKey)
  // The driver sends its own statements before the first one of a connection.
  await watchedSql`select 1`
  Object.assign(work, { statements: [], hashes: 0, comparisons: 0 })

  const key = await authenticateKey({ ...store, sql: watchedSql }, presented)

  expect(key?.tenantId).toBe(testCase === cases[0] ? id : undefined)
  expect(work).toEqual({
    statements: [expect.stringMatching(/^\s*select\s+key\.tenant_id/)],
    hashes: 1,
    comparisons: 1,
  })
})
