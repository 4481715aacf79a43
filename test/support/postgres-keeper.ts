// Runs the PostgreSQL of one jest run in a separate process. When jest ends, also by SIGKILL, the
// IPC channel closes, and this process stops the server and removes its folder.
import { join } from 'node:path'
import postgres from 'postgres'
import { migrateDatabase } from '../../src/db/migrations/migrate.ts'
import { useCheapPasswordHash } from '../../dev/embedded-postgres/cheap-password-hash.ts'
import {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
} from '../../dev/embedded-postgres/postgres.ts'
import {
  makeThrowawayFolder,
  removeThrowawayFolder,
} from '../../dev/embedded-postgres/throwaway-folder.ts'

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
  process.send?.({ url: running.url('postgres'), template: TEMPLATE, folder })
} catch (error) {
  process.send?.({ error: `${String(error)}\n${lines.join('\n')}` })
}

async function makeTemplate(running: EmbeddedPostgres): Promise<void> {
  const admin = postgres(running.url('postgres'), { max: 1 })
  await admin`create database ${admin(TEMPLATE)}`
  await migrateDatabase(running.url(TEMPLATE))
  // A database cannot be copied while another session is connected to it.
  await admin`alter database ${admin(TEMPLATE)} with is_template true allow_connections false`
  await admin.end()
}

async function cleanUp(): Promise<void> {
  await server.then((running) => running.stop('immediate')).catch(() => {})
  await removeThrowawayFolder(folder)
  process.exit()
}
