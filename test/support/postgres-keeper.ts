// Keeps the PostgreSQL of one jest run, as a process of its own: jest holds the other end of the
// channel, and however jest ends, the server is stopped and its folder removed.
import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { migrateDatabase } from '../../src/db/migrate.ts'
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../src/embedded/postgres.ts'

/** Migrated once; every test database is a copy. */
const TEMPLATE = 'template_migrated'

const folder = await mkdtemp(join(tmpdir(), 'atomic-payments-test-'))
// Root's server runs as the user `postgres`, who has to get in.
await chmod(folder, 0o755)
const directory = join(folder, 'postgres')

const lines: string[] = []
const server = startEmbeddedPostgres({ directory, durable: false, log: (line) => lines.push(line) })
process.once('disconnect', () => void cleanUp())

try {
  const running = await server
  await makeTemplate(running)
  process.send?.({ url: running.url('postgres'), template: TEMPLATE })
} catch (error) {
  process.send?.({ error: `${String(error)}\n${lines.join('\n')}` })
}

async function makeTemplate(running: EmbeddedPostgres): Promise<void> {
  const admin = postgres(running.url('postgres'), { max: 1 })
  await admin`create database ${admin(TEMPLATE)}`
  await migrateDatabase(running.url(TEMPLATE))
  // Copying a database fails while anyone is connected to it.
  await admin`alter database ${admin(TEMPLATE)} with is_template true allow_connections false`
  await admin.end()
}

async function cleanUp(): Promise<void> {
  await server.then((running) => running.stop('immediate')).catch(() => {})
  // The folder may be a link to a place that the server can reach.
  await rm(await realpath(directory).catch(() => directory), { recursive: true, force: true })
  await rm(folder, { recursive: true, force: true })
  process.exit()
}
