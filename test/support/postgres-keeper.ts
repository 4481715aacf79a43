// Runs the PostgreSQL of one jest run in a separate process. When jest ends, also by SIGKILL, the
// IPC channel closes, and this process stops the server and removes its folder.
import { join } from 'node:path'
import postgres from 'postgres'
import { EVERY_TENANT, TENANTS_SETTING } from '../../src/db/connection/transaction.ts'
import { migrateDatabase } from '../../src/migrations/migrate.ts'
import { useCheapPasswordHash } from '../../dev/embedded-postgres/with-store.ts'
import {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
} from '../../dev/embedded-postgres/postgres.ts'
import {
  makeThrowawayFolder,
  removeThrowawayFolder,
} from '../../dev/embedded-postgres/throwaway-folder.ts'

/**
 * Owns all test databases. It is no superuser, as with a managed PostgreSQL. Only the connections of
 * the tests themselves see all tenants: start-script.ts.
 */
const OWNER = 'test_owner'

/** Migrated once. Every test database is a copy of it. */
const TEMPLATE = 'template_migrated'

const folder = await makeThrowawayFolder('test')
const directory = join(folder, 'postgres')

const lines: string[] = []
const server = startEmbeddedPostgres({ directory, durable: false, log: (line) => lines.push(line) })
process.once('disconnect', () => void cleanUp())

try {
  const running = await server
  await useCheapPasswordHash(running.url('postgres'))
  await makeTemplate(running)
  process.send?.({
    url: running.url('postgres'),
    ownerUrl: ownerUrl(running, 'postgres'),
    template: TEMPLATE,
    folder,
  })
} catch (error) {
  process.send?.({ error: `${String(error)}\n${lines.join('\n')}` })
}

async function makeTemplate(running: EmbeddedPostgres): Promise<void> {
  const admin = postgres(running.url('postgres'), { max: 1 })
  await admin.unsafe(`create role ${OWNER} login createrole password '${OWNER}'`)
  await admin.unsafe(`alter role ${OWNER} set ${TENANTS_SETTING} = '${EVERY_TENANT}'`)
  await admin`create database ${admin(TEMPLATE)} owner ${admin(OWNER)}`
  await migrateDatabase(ownerUrl(running, TEMPLATE))
  // A database cannot be copied while another session is connected to it.
  await admin`alter database ${admin(TEMPLATE)} with is_template true allow_connections false`
  await admin.end()
}

function ownerUrl(running: EmbeddedPostgres, database: string): string {
  const login = { username: OWNER, password: OWNER }
  return Object.assign(new URL(running.url(database)), login).href
}

async function cleanUp(): Promise<void> {
  await server.then((running) => running.stop('immediate')).catch(() => {})
  await removeThrowawayFolder(folder)
  process.exit()
}
