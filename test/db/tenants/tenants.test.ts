// Tests authentication by API keys. Malformed, unknown, wrong and revoked keys all give undefined.
import { randomBytes } from 'node:crypto'
import { expect, test } from '@jest/globals'
import { ensureDemoTenant } from '../../../dev/stack/generated-secrets.ts'
import { authenticateKey, makeApiKey } from '../../../src/db/tenants/api-keys.ts'
import { createTenant, setTenantDisabled } from '../../../src/db/tenants/tenants.ts'
import { database, store } from '../../support/own-store.ts'

function newApiKey(): string {
  return `sk_test_${randomBytes(16).toString('hex')}`
}

/** A key of the same length and prefix, with another end. */
function withOtherEnd(apiKey: string): string {
  return apiKey.slice(0, -1) + (apiKey.endsWith('0') ? '1' : '0')
}

test.each([
  ['of the shortest length', 'sk_123456789'],
  ['of the longest length', `sk_${'k'.repeat(200)}`],
])('authenticates a key %s', async (_, apiKey) => {
  const id = await createTenant(store, { name: 'one', apiKey })

  expect(await authenticateKey(store, apiKey)).toMatchObject({ tenantId: id })
  expect(await authenticateKey(store, withOtherEnd(apiKey))).toBeUndefined()
})

test('authenticates two keys with the same prefix as their own tenants', async () => {
  const apiKey = newApiKey()
  const other = withOtherEnd(apiKey)
  const id = await createTenant(store, { name: 'one', apiKey })
  const otherId = await createTenant(store, { name: 'other', apiKey: other })

  expect(await authenticateKey(store, apiKey)).toMatchObject({ tenantId: id })
  expect(await authenticateKey(store, other)).toMatchObject({ tenantId: otherId })
})

test.each<[string, (apiKey: string) => string]>([
  ['a wrong secret with a known prefix', withOtherEnd],
  ['the prefix alone', (apiKey) => apiKey.slice(0, 16)],
  ['the key in upper case', (apiKey) => apiKey.toUpperCase()],
  ['the key with an extra character', (apiKey) => `${apiKey}0`],
  ['the key with a trailing space', (apiKey) => `${apiKey} `],
  ['the key with a trailing line break', (apiKey) => `${apiKey}\n`],
  ['a publishable key', () => 'pk_test_1234567890'],
  ['a key that is too short', () => 'sk_12345678'],
  ['a key that is too long', () => `sk_${'k'.repeat(201)}`],
  ['a key with a NUL', () => 'sk_test_\u0000123456789'],
  ['SQL', () => "sk_' or prefix is not null --"],
  ['its hash', (apiKey) => Buffer.from(apiKey).toString('hex')],
])('refuses %s', async (_, change) => {
  const apiKey = newApiKey()
  await createTenant(store, { name: 'one', apiKey })

  expect(await authenticateKey(store, change(apiKey))).toBeUndefined()
})

test('refuses a revoked key', async () => {
  const apiKey = newApiKey()
  const id = await createTenant(store, { name: 'one', apiKey })
  await store.sql`update api_keys set revoked_at = now() where tenant_id = ${id}`

  expect(await authenticateKey(store, apiKey)).toBeUndefined()
})

test('accepts a key of a tenant that is enabled again, and keeps the first disabledAt', async () => {
  const apiKey = makeApiKey()
  const id = await createTenant(store, { name: 'one', apiKey })
  const first = await setTenantDisabled(store.sql, id, true)
  const second = await setTenantDisabled(store.sql, id, true)
  await setTenantDisabled(store.sql, id, false)

  expect(first?.disabledAt).toBeInstanceOf(Date)
  expect(second).toEqual(first)
  expect(await authenticateKey(store, apiKey)).toMatchObject({ tenantId: id })
})

test('stores the secret part of a key in no table', async () => {
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

test('creates no tenant with a malformed key', async () => {
  const before = await store.sql`select count(*) from tenants`

  await expect(createTenant(store, { name: 'nul', apiKey: 'sk_nul\u0000' })).rejects.toThrow(
    'an API key is sk_',
  )

  expect(await store.sql`select count(*) from tenants`).toEqual(before)
})

test('refuses the key of one tenant for another tenant', async () => {
  const apiKey = newApiKey()
  await createTenant(store, { name: 'first', apiKey })
  const before = await store.sql`select count(*) from tenants`

  await expect(createTenant(store, { name: 'second', apiKey })).rejects.toMatchObject({
    code: '23505',
    message: expect.stringContaining('api_keys_secret_once'),
  })

  expect(await store.sql`select count(*) from tenants`).toEqual(before)
})

test('creates the demo tenant once', async () => {
  const apiKey = newApiKey()

  await ensureDemoTenant(database.url, apiKey)
  const id = (await authenticateKey(store, apiKey))?.tenantId
  await ensureDemoTenant(database.url, apiKey)

  expect(id).toBeDefined()
  expect(await authenticateKey(store, apiKey)).toMatchObject({ tenantId: id })
  expect(await store.sql`select id from tenants where name = 'Demo'`).toEqual([{ id }])
})
