import { randomUUID } from 'node:crypto'
import { afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { endpointSecret, keyNameOf, responseBody } from '../../src/encryption/encryption.ts'
import {
  encryptAgain,
  readOlderValues,
  replaceIfUnchanged,
  storedColumns,
  type StoredColumn,
} from '../../src/encryption/rotation.ts'
import { createTenant } from '../../src/db/tenants/tenants.ts'
import { encryptionKeyOf, ENCRYPTION_KEYS, useKeys } from '../support/encryption.ts'
import { store } from '../support/own-store.ts'

const OLD = encryptionKeyOf('old', 1)
const NEW = encryptionKeyOf('new', 2)
const NO_ROW = { tenantId: '', id: '' }
const SECRET = 'whsec_c2VjcmV0'

const column = storedColumns.find(({ name }) => name === 'webhook_endpoints.secret') as StoredColumn

let tenants: string[]

beforeAll(async () => {
  const names = Array.from({ length: 3 }, () => `sk_test_${randomUUID().replaceAll('-', '')}`)
  tenants = await Promise.all(names.map((apiKey) => createTenant(store, { name: 'test', apiKey })))
})
beforeEach(() => store.sql`delete from webhook_endpoints`)
afterEach(() => useKeys(ENCRYPTION_KEYS))
/** Inserts an endpoint of each tenant with this secret as it is stored, and returns their ids. */
async function insertEndpoints(stored: (row: { tenantId: string; id: string }) => string) {
  const rows = tenants.map((tenantId) => ({ tenantId, id: randomUUID() }))
  for (const row of rows) {
    await store.sql`
      insert into webhook_endpoints (tenant_id, id, slot, url, event_types, secret)
      values (${row.tenantId}, ${row.id}, 1, 'https://a.example', ${['*']}, ${stored(row)})
    `
  }
  return rows
}

async function readSecrets(): Promise<string[]> {
  const rows = await store.sql<{ secret: string }[]>`select secret from webhook_endpoints`
  return rows.map(({ secret }) => secret)
}

test('walks through the rows of all tenants in batches, each row once', async () => {
  useKeys(OLD)
  const rows = await insertEndpoints((row) => endpointSecret.encrypt(row, SECRET))
  useKeys(`${NEW},${OLD}`)

  const ids: string[] = []
  let after: { tenantId: string; id: string } | undefined
  let batches = 0
  do {
    const batch = await readOlderValues(store.sql, column, { limit: 2, after })
    ids.push(...batch.older.map(({ id }) => id))
    after = batch.next
    batches += 1
  } while (after !== undefined)

  expect(ids.toSorted()).toEqual(rows.map(({ id }) => id).toSorted())
  expect(batches).toBe(2)
})

test('skips what the first key has encrypted', async () => {
  useKeys(`${NEW},${OLD}`)
  await insertEndpoints((row) => endpointSecret.encrypt(row, SECRET))
  expect((await readOlderValues(store.sql, column, { limit: 10 })).older).toEqual([])

  useKeys(`${OLD},${NEW}`)
  const { older } = await readOlderValues(store.sql, column, { limit: 10 })
  expect(older.map(({ stored }) => keyNameOf(stored))).toEqual(['new', 'new', 'new'])
})

test('does not overwrite a value that was changed after it was read', async () => {
  useKeys(OLD)
  const [row] = await insertEndpoints((own) => endpointSecret.encrypt(own, SECRET))
  useKeys(`${NEW},${OLD}`)
  const { older } = await readOlderValues(store.sql, column, { limit: 10 })
  await store.sql`update webhook_endpoints set secret = 'whsec_another' where id = ${row?.id ?? ''}`

  expect(await replaceIfUnchanged(store.sql, column, encryptAgain(column, older))).toBe(2)

  expect((await readSecrets()).filter((secret) => secret === 'whsec_another')).toHaveLength(1)
})

test('leaves a value that another row had, and values whose key is missing', async () => {
  useKeys(`${NEW},${OLD}`)
  const [owner = NO_ROW, other = NO_ROW] = await insertEndpoints((row) =>
    endpointSecret.encrypt(row, SECRET),
  )
  useKeys(`${OLD},${NEW}`)
  const foreign = endpointSecret.encrypt(owner, SECRET)
  await store.sql`update webhook_endpoints set secret = ${foreign} where id = ${other.id}`
  useKeys(NEW)
  const { older } = await readOlderValues(store.sql, column, { limit: 10 })
  expect(older).toHaveLength(1)
  expect(encryptAgain(column, older)).toEqual([])

  useKeys(`${NEW},${OLD}`)
  expect(encryptAgain(column, older)).toEqual([])
  expect(() => endpointSecret.decrypt(other, foreign)).toThrow('belongs to another row')
})

test.each([408, 409, 410])('leaves a fixed answer %d, which is stored plainly', async (status) => {
  const responses = storedColumns.find(({ values }) => values === responseBody) as StoredColumn
  await store.sql`delete from idempotency_keys`
  await store.sql`
    insert into idempotency_keys (
      tenant_id, id, key, fingerprint, operation, status, recovery_point, expires_at,
      response_status, response_headers, response_body, finished_at
    )
    values (
      ${tenants[0] ?? ''}, ${randomUUID()}, 'key', ${Buffer.alloc(32)}, 'webhook_endpoint.create',
      'completed', 'finished', now(), ${status}, '{}', '{}', now()
    )
  `

  const { older, lookedAt } = await readOlderValues(store.sql, responses, { limit: 10 })
  expect({ older, lookedAt }).toEqual({ older: [], lookedAt: 1 })
})
