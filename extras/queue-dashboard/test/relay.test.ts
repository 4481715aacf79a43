// Tests the relay by connections of our own driver, over its Unix socket.
import { existsSync, statSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { openStore, type Store } from '../../../src/db/connection/client.ts'
import { connectDriver, readDatabase } from '../../../src/db/connection/driver.ts'
import { openRelay, type Relay } from '../relay.ts'
import { parseDatabaseUrl } from '../../../src/database-url.ts'
import { SERVICE_ROLE } from '../../../src/config.ts'
import { database } from '../../../test/support/own-store.ts'

async function openThrough(url: string, failed: (error: Error) => void = () => {}) {
  const relay = await openRelay({ url, role: SERVICE_ROLE, timeoutMs: 10_000, failed })
  const store = openStore({
    url: relay.url,
    applicationName: 'test',
    poolSize: 2,
    timeoutMs: 10_000,
  })
  return { relay, store }
}

function folderOf({ url }: Relay): string {
  return parseDatabaseUrl(url).hosts[0]?.host ?? ''
}

async function closeBoth(relay: Relay, store: Store): Promise<void> {
  await store.close()
  await relay.close()
}

test('passes statements on, with the role and the options of the URL', async () => {
  const { relay, store } = await openThrough(`${database.url}?options=-c%20work_mem%3D7MB`)

  const large = 'x'.repeat(1_000_000)
  const rows = await store.sql`
    select current_user::text as role, current_setting('work_mem') as memory, ${large}::text as large
  `
  expect(rows).toEqual([{ role: SERVICE_ROLE, memory: '7MB', large }])
  await closeBoth(relay, store)
})

test('passes on what is fixed for every session, not the default of the database', async () => {
  const { relay, store } = await openThrough(database.url)
  const name = store.sql(new URL(database.url).pathname.slice(1))
  const owner = openStore({
    url: database.url,
    applicationName: 'test',
    poolSize: 1,
    timeoutMs: 9_000,
  })
  await owner.sql`alter database ${name} set DateStyle = 'German, DMY'`
  const driver = connectDriver(readDatabase(relay.url, 10_000))

  const [row] = await driver`
    select current_setting('DateStyle') as dates, current_setting('default_transaction_isolation') as isolation
  `
  expect(row).toEqual({ dates: 'ISO, MDY', isolation: 'read committed' })
  await owner.sql`alter database ${name} reset all`
  await Promise.all([driver.end(), owner.close()])
  await closeBoth(relay, store)
})

test('lets only its own user in, and leaves nothing behind', async () => {
  const { relay, store } = await openThrough(database.url)
  const folder = folderOf(relay)

  expect(statSync(folder).mode & 0o777).toBe(0o700)
  await closeBoth(relay, store)
  expect(existsSync(folder)).toBe(false)
})

test('closes open connections', async () => {
  const { relay, store } = await openThrough(database.url)
  await store.sql`select 1`

  await relay.close()

  await expect(store.sql`select 1`).rejects.toThrow()
  await store.close()
})

test('reports a connection that cannot be opened', async () => {
  const failures: string[] = []
  const { relay, store } = await openThrough('postgres://u:hunter2@localhost:1/db', (error) =>
    failures.push(String((error as NodeJS.ErrnoException).code)),
  )

  await expect(store.sql`select 1`).rejects.toThrow()
  expect(failures).toContain('ECONNREFUSED')
  await closeBoth(relay, store)
})
