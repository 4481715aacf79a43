// Tests that a database of a development version, from before the first migration, is refused with
// one line, and that nothing of it is changed.
import { join } from 'node:path'
import { beforeAll, expect, test } from '@jest/globals'
import { ensureDatabase } from '../../dev/embedded-postgres/with-store.ts'
import { startEmbeddedPostgres } from '../../dev/embedded-postgres/postgres.ts'
import type { Sql, Store } from '../../src/db/connection/client.ts'
import { startProcess, type ServiceProcess } from '../support/processes.ts'
import { launch } from '../support/stack.ts'
import { makeTemporaryFolder } from '../support/temporary-folder.ts'
import { database, store } from '../support/own-store.ts'
import { openTestStore } from '../db/reservations.ts'

const REFUSAL =
  'This database was made by a development version from before the first migration. Go on with that ' +
  'version, or use an empty database: with npm start, delete the folder DATA_DIR (.data) or set another.'

beforeAll(async () => {
  await writeEarlierJournal(store.sql)
})
/** The table of drizzle, with the first and the last migration that there once were. */
async function writeEarlierJournal(sql: Sql): Promise<void> {
  await sql`create schema if not exists drizzle`
  await sql`
    create table if not exists drizzle.__drizzle_migrations (
      id serial primary key, hash text not null, created_at bigint
    )
  `
  await sql`delete from drizzle.__drizzle_migrations`
  await sql`
    insert into drizzle.__drizzle_migrations (hash, created_at)
    values ('a', 1795251110072), ('b', 1795908556414)
  `
}

async function describeDatabase({ sql }: Store) {
  return [
    await sql`select hash, created_at from drizzle.__drizzle_migrations order by id`,
    await sql`select oid, relname from pg_class where relnamespace <> 'pg_toast'::regnamespace order by oid`,
  ]
}

async function endOf(process: ServiceProcess): Promise<unknown> {
  const { code } = await process.exited
  return { code, said: process.lines.filter((line) => line.includes('development version')) }
}

test.each([
  ['npm run migrate', 'migrate', 'src/start/migrate.ts'],
  ['the API', 'api', 'src/start/api.ts'],
  ['a worker', 'worker', 'workers/main.ts'],
])('%s refuses it', async (_, name, script) => {
  const before = await describeDatabase(store)
  const env = { DATABASE_URL: database.url, STRIPE_SECRET_KEY: 'sk_test_mock', PORT: '0' }

  const process = startProcess(script, { env })

  expect(await endOf(process)).toEqual({ code: 1, said: [`${name}: ${REFUSAL}`] })
  expect(process.lines.join('\n')).not.toMatch(/\n\s+at /)
  expect(await describeDatabase(store)).toEqual(before)
})

test('npm run doctor says what to do', async () => {
  const process = startProcess('src/start/doctor.ts', { env: { DATABASE_URL: database.url } })

  expect(await process.exited).toMatchObject({ code: 1 })
  expect(process.lines.join('\n')).toMatch(
    /failure +migrations +those of a development version\n +Go on/,
  )
})

test('npm start refuses a data folder with it', async () => {
  const folder = await makeTemporaryFolder()
  const directory = join(folder, 'postgres')
  const server = await startEmbeddedPostgres({ directory, durable: false, log: () => {} })
  const own = openTestStore(await ensureDatabase(server, 'atomic_payments'), 1)
  await writeEarlierJournal(own.sql)
  await own.close()
  await server.stop()

  const launcher = launch({ DATA_DIR: folder })

  // By the migration, which changes nothing: see above.
  expect(await endOf(launcher)).toEqual({ code: 1, said: [`npm start: ${REFUSAL}`] })
})
