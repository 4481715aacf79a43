// Whose API key it is. Malformed, unknown, wrong and revoked keys look alike: nobody's.
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Store } from '../../../src/db/connection/client.ts'
import { ensureDemoTenant } from '../../../src/db/tenants/demo-tenant.ts'
import { authenticateKey, makeApiKey } from '../../../src/db/tenants/api-keys.ts'
import { createTenant, setTenantDisabled } from '../../../src/db/tenants/tenants.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database.ts'
import { openTestStore } from '../reservations.ts'

let database: TestDatabase
let store: Store

beforeAll(async () => {
  database = await createTestDatabase()
  store = openTestStore(database.url)
})
afterAll(async () => {
  await store.close()
  await database.drop()
})

function newApiKey(): string {
  return `sk_test_${randomBytes(16).toString('hex')}`
}

/** A key of the same length and prefix, with another end. */
function withOtherEnd(apiKey: string): string {
  return apiKey.slice(0, -1) + (apiKey.endsWith('0') ? '1' : '0')
}

test('a key finds its tenant', async () => {
  const apiKey = newApiKey()
  const id = await createTenant(store, { name: 'one', apiKey })

  expect(await authenticateKey(store, apiKey)).toMatchObject({ tenantId: id })
})

test.each([
  ['of the shortest length', 'sk_123456789'],
  ['of the longest length', `sk_${'k'.repeat(200)}`],
])('a key %s finds its tenant', async (_, apiKey) => {
  const id = await createTenant(store, { name: 'one', apiKey })

  expect(await authenticateKey(store, apiKey)).toMatchObject({ tenantId: id })
  expect(await authenticateKey(store, withOtherEnd(apiKey))).toBeUndefined()
})

test('each of two keys with the same prefix finds its own tenant', async () => {
  const apiKey = newApiKey()
  const other = withOtherEnd(apiKey)
  const id = await createTenant(store, { name: 'one', apiKey })
  const otherId = await createTenant(store, { name: 'other', apiKey: other })

  expect(await authenticateKey(store, apiKey)).toMatchObject({ tenantId: id })
  expect(await authenticateKey(store, other)).toMatchObject({ tenantId: otherId })
})

test.each<[string, (apiKey: string) => string]>([
  ['a wrong secret behind the right prefix', withOtherEnd],
  ['the prefix alone', (apiKey) => apiKey.slice(0, 16)],
  ['the key in upper case', (apiKey) => apiKey.toUpperCase()],
  ['the key with more behind it', (apiKey) => `${apiKey}0`],
  ['the key with a space behind it', (apiKey) => `${apiKey} `],
  ['the key with a line end behind it', (apiKey) => `${apiKey}\n`],
  ['an unknown key', newApiKey],
  ['an empty text', () => ''],
  ['a publishable key', () => 'pk_test_1234567890'],
  ['a key that is too short', () => 'sk_12345678'],
  ['a key that is too long', () => `sk_${'k'.repeat(201)}`],
  ['a key with a NUL', () => 'sk_test_\u0000123456789'],
  ['SQL', () => "sk_' or prefix is not null --"],
  ['its hash', (apiKey) => Buffer.from(apiKey).toString('hex')],
])('%s finds nobody', async (_, changed) => {
  const apiKey = newApiKey()
  await createTenant(store, { name: 'one', apiKey })

  expect(await authenticateKey(store, changed(apiKey))).toBeUndefined()
})

test('a revoked key finds nobody', async () => {
  const apiKey = newApiKey()
  const id = await createTenant(store, { name: 'one', apiKey })
  await store.sql`update api_keys set revoked_at = now() where tenant_id = ${id}`

  expect(await authenticateKey(store, apiKey)).toBeUndefined()
})

test.each([
  [
    'has expired',
    (id: string) => store.sql`update api_keys set expires_at = now() where tenant_id = ${id}`,
  ],
  ['is of a disabled tenant', (id: string) => setTenantDisabled(store.sql, id, true)],
])('a key that %s finds nobody', async (_, end) => {
  const apiKey = makeApiKey()
  const id = await createTenant(store, { name: 'one', apiKey })
  await end(id)

  expect(await authenticateKey(store, apiKey)).toBeUndefined()
})

test('a key that is going to expire finds its tenant', async () => {
  const apiKey = makeApiKey()
  const id = await createTenant(store, { name: 'one', apiKey })
  await store.sql`
    update api_keys set expires_at = now() + interval '1 minute' where tenant_id = ${id}
  `

  expect(await authenticateKey(store, apiKey)).toMatchObject({ tenantId: id, scopes: ['*'] })
})

test('a key of an enabled tenant works again, and the tenant was disabled since the first time', async () => {
  const apiKey = makeApiKey()
  const id = await createTenant(store, { name: 'one', apiKey })
  const first = await setTenantDisabled(store.sql, id, true)
  const second = await setTenantDisabled(store.sql, id, true)
  await setTenantDisabled(store.sql, id, false)

  expect(first?.disabledAt).toBeInstanceOf(Date)
  expect(second).toEqual(first)
  expect(await authenticateKey(store, apiKey)).toMatchObject({ tenantId: id })
})

test('no table holds the secret part of a key', async () => {
  const apiKey = makeApiKey()
  const id = await createTenant(store, { name: 'one', apiKey })

  const rows = await store.sql`
    select api_keys::text, tenants::text from tenants
    join api_keys on api_keys.tenant_id = tenants.id
    where tenants.id = ${id}
  `

  expect(rows).toHaveLength(1)
  expect(JSON.stringify(rows)).not.toContain(apiKey.slice(16))
})

test('a tenant is not made with a key that could never be found', async () => {
  const before = await store.sql`select count(*) from tenants`

  await expect(createTenant(store, { name: 'nul', apiKey: 'sk_nul\u0000' })).rejects.toThrow(
    'an API key is sk_',
  )

  expect(await store.sql`select count(*) from tenants`).toEqual(before)
})

test('a key that names a tenant cannot name another one', async () => {
  const apiKey = newApiKey()
  await createTenant(store, { name: 'first', apiKey })
  const before = await store.sql`select count(*) from tenants`

  await expect(createTenant(store, { name: 'second', apiKey })).rejects.toMatchObject({
    code: '23505',
    constraint_name: 'api_keys_secret_once',
  })

  expect(await store.sql`select count(*) from tenants`).toEqual(before)
})

test('the demo tenant is made once, however often it is ensured', async () => {
  const apiKey = newApiKey()

  await ensureDemoTenant(database.url, apiKey)
  const id = (await authenticateKey(store, apiKey))?.tenantId
  await ensureDemoTenant(database.url, apiKey)

  expect(id).toBeDefined()
  expect(await authenticateKey(store, apiKey)).toMatchObject({ tenantId: id })
  expect(await store.sql`select id from tenants where name = 'Demo'`).toEqual([{ id }])
})
