// Creates temporary databases as copies of the migrated template of this jest run.
import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import postgres from 'postgres'
import { citusUrl, createCitusDatabase } from './citus.ts'

/** The SQLSTATE of a copy while another test copies the template. */
const OBJECT_IN_USE = '55006'
const COPY_ATTEMPTS = 50
const COPY_RETRY_MS = 100

export interface TestDatabase {
  /** With the login of its owner, who is no superuser. */
  readonly url: string
  /** With the login of a superuser. */
  readonly adminUrl: string
  /** Removes the database and closes its open connections. */
  drop(): Promise<void>
}

/**
 * Creates an empty, migrated database, on all nodes of Citus if there is one: see `citusUrl`.
 *
 * @throws the driver's error when the cluster of this jest run cannot be reached.
 */
export async function createTestDatabase(): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`
  if (citusUrl() !== undefined) return await createCitusDatabase(name)
  await copyTemplate(name)
  return databaseOf(name)
}

/** Creates a database without tables. It has the same owner. */
export async function createEmptyDatabase(): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`
  await asAdmin(async (sql) => {
    await sql`create database ${sql(name)} template template0 owner ${sql(ownerName())}`
  })
  return databaseOf(name)
}

const ownerName = (): string => new URL(process.env['TEST_POSTGRES_OWNER_URL'] ?? '').username

function databaseOf(name: string): TestDatabase {
  const urlOf = (cluster: string) => Object.assign(new URL(cluster), { pathname: name }).href
  return {
    url: urlOf(process.env['TEST_POSTGRES_OWNER_URL'] ?? ''),
    adminUrl: urlOf(clusterUrl()),
    drop: () =>
      asAdmin(async (sql) => {
        await sql`drop database if exists ${sql(name)} with (force)`
      }),
  }
}

async function copyTemplate(name: string): Promise<void> {
  const template = process.env['TEST_POSTGRES_TEMPLATE'] ?? ''
  await asAdmin(async (sql) => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await sql`
          create database ${sql(name)} template ${sql(template)} strategy file_copy
          owner ${sql(ownerName())}
        `
        return
      } catch (error) {
        const inUse = error instanceof postgres.PostgresError && error.code === OBJECT_IN_USE
        if (!inUse || attempt === COPY_ATTEMPTS) throw error
        await delay(COPY_RETRY_MS)
      }
    }
  })
}

async function asAdmin(work: (sql: postgres.Sql) => Promise<void>): Promise<void> {
  const sql = postgres(clusterUrl(), { max: 1, onnotice: () => {} })
  try {
    await work(sql)
  } finally {
    await sql.end()
  }
}

function clusterUrl(): string {
  const url = process.env['TEST_POSTGRES_URL']
  if (url === undefined) throw new Error('no test cluster: jest.config.js has to name global-setup')
  return url
}
