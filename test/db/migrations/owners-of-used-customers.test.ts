// Tests the migration that gives each customer of the provider to the one tenant whose payments
// have used it, on a database of the version before.
import { randomBytes, randomUUID } from 'node:crypto'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Store } from '../../../src/db/connection/client.ts'
import { SERVICE_ROLE } from '../../../src/config.ts'
import { migrationsFolder } from '../../../src/db/migrations/applied-migrations.ts'
import { migrateDatabase } from '../../../src/db/migrations/migrate.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database.ts'
import { openTestStore } from '../reservations.ts'

const MIGRATION = '0021_owners_of_used_customers'
const UNDEFINED_FUNCTION = '42883'

let migrated: TestDatabase
let admin: Store
let name: string
let url: string
let store: Store

beforeAll(async () => {
  migrated = await createTestDatabase()
  admin = openTestStore(migrated.adminUrl, 1)
  name = `test_owners_${randomBytes(6).toString('hex')}`
  // An owner who is no superuser, and whose sessions name no tenant.
  await admin.sql.unsafe(`create role ${name} login password 'secret'`)
  await admin.sql.unsafe(`grant ${SERVICE_ROLE} to ${name}`)
  await admin.sql.unsafe(`create database ${name} template template0 owner ${name}`)
  const own = { username: name, password: 'secret', pathname: name }
  url = Object.assign(new URL(migrated.url), own).href
  store = openTestStore(url, 1)
  await store.sql`select set_config('atomic.tenants', '*', false)`
  await migrateUpTo(MIGRATION)
})
afterAll(async () => {
  await store.close()
  await admin.sql.unsafe(`drop database ${name} with (force)`)
  await admin.sql.unsafe(`drop role ${name}`)
  await admin.close()
  await migrated.drop()
})

/** Applies the migrations before this one. */
async function migrateUpTo(tag: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'atomic-payments-migrations-'))
  await cp(migrationsFolder, folder, { recursive: true })
  const journalFile = join(folder, 'meta', '_journal.json')
  const journal = JSON.parse(await readFile(journalFile, 'utf8')) as { entries: { tag: string }[] }
  const entries = journal.entries.filter((entry) => entry.tag < tag)
  await writeFile(journalFile, JSON.stringify({ ...journal, entries }))
  // The rights to functions of later migrations cannot be granted yet.
  await migrateDatabase(url, { folder }).catch((error: { code?: string }) => {
    if (error.code !== UNDEFINED_FUNCTION) throw error
  })
  await rm(folder, { recursive: true })
}

/** The statement of this version reads columns that the version before lacks. */
async function insertTenant(): Promise<string> {
  const id = randomUUID()
  await store.sql`insert into tenants (id, name) values (${id}, 'test')`
  return id
}

async function pay(tenantId: string, customer: string | null, accepted = true): Promise<void> {
  await store.sql`
    insert into payments (
      tenant_id, id, amount_minor, currency, capture_method, payment_method, metadata, provider,
      customer, provider_payment_id
    ) values (
      ${tenantId}, ${randomUUID()}, 1999, 'usd', 'automatic', 'pm_1', '{}', 'stripe', ${customer},
      ${accepted ? `pi_${randomUUID()}` : null}
    )
  `
}

test('gives a customer to the only tenant that used it, and leaves what is ambiguous', async () => {
  const [mine, theirs] = [await insertTenant(), await insertTenant()]
  await pay(mine, 'cus_mine')
  await pay(mine, 'cus_mine', false)
  await pay(theirs, 'cus_theirs')
  await pay(theirs, null)
  await pay(mine, 'cus_both')
  await pay(theirs, 'cus_both', false)
  await pay(mine, 'cus_refused', false)

  await migrateDatabase(url)

  const owners = await store.sql`
    select tenant_id, provider, id from provider_customers order by id
  `
  expect(owners).toEqual([
    { tenant_id: mine, provider: 'stripe', id: 'cus_mine' },
    { tenant_id: theirs, provider: 'stripe', id: 'cus_theirs' },
  ])
})
