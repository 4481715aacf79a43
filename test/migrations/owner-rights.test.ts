// Tests migrations by owners who are no superusers: with the right to create roles, without it, and
// several of them in one cluster.
import { randomBytes } from 'node:crypto'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { ConfigError } from '../../src/config-formats.ts'
import { openStore, type Store } from '../../src/db/connection/client.ts'
import { readMigrationState } from '../../src/migrations/applied-migrations.ts'
import { migrateDatabase } from '../../src/migrations/migrate.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { openTestStore } from '../db/reservations.ts'

const INSUFFICIENT_PRIVILEGE = '42501'

let migrated: TestDatabase
let admin: Store
const made: string[] = []

beforeAll(async () => {
  migrated = await createTestDatabase()
  admin = openTestStore(migrated.adminUrl, 1)
})
afterEach(async () => {
  for (const statement of made.splice(0).toReversed()) await admin.sql.unsafe(statement)
})
afterAll(async () => {
  await admin.close()
  await migrated.drop()
})

/** A name that no other test uses, for a role that `drop` removes after its databases. */
function newName(kind: string): string {
  return `test_${kind}_${randomBytes(6).toString('hex')}`
}

function newServiceRole(): string {
  const role = newName('role')
  made.push(`drop role if exists ${role}`)
  return role
}

async function createLogin(rights = ''): Promise<string> {
  const login = newName('login')
  await admin.sql.unsafe(`create role ${login} login ${rights} password 'secret'`)
  made.push(`drop role ${login}`)
  return login
}

/** Returns the URL of a new database, with that login. */
async function createDatabase(login: string, owner = login): Promise<string> {
  const name = newName('owned')
  await admin.sql.unsafe(`create database ${name} template template0 owner ${owner}`)
  made.push(`drop database ${name} with (force)`)
  const own = { username: login, password: 'secret', pathname: name }
  return Object.assign(new URL(migrated.url), own).href
}

async function useStore<Result>(
  url: string,
  role: string | undefined,
  work: (store: Store) => Promise<Result>,
): Promise<Result> {
  const options = { applicationName: 'test', poolSize: 1, timeoutMs: 20_000 }
  const store = openStore({ url, ...options, ...(role === undefined ? {} : { role }) })
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

async function refusalOf(url: string, role: string): Promise<string> {
  const error: unknown = await migrateDatabase(url, { role }).catch((thrown) => thrown)
  expect(error).toBeInstanceOf(ConfigError)
  return (error as Error).message
}

/** The statements in the message, as an administrator copies them. */
function statementsIn(message: string): string[] {
  return message.split('\n').flatMap((line) => (/^ {2}\w.*;$/.test(line) ? [line.trim()] : []))
}

async function runAsAdmin(url: string, statements: readonly string[]): Promise<void> {
  const { username, password } = new URL(migrated.adminUrl)
  await useStore(Object.assign(new URL(url), { username, password }).href, undefined, (store) =>
    store.sql.unsafe(statements.join('\n')),
  )
}

async function expectMigrated(url: string, role: string): Promise<void> {
  await useStore(url, role, async ({ sql }) => {
    expect(await readMigrationState(sql)).toBe('current')
    expect(await sql`select current_user::text as role`).toEqual([{ role }])
    await sql`select from payments`
  })
}

test('an owner who may create roles needs nothing else', async () => {
  const role = newServiceRole()
  const url = await createDatabase(await createLogin('createrole'))

  await migrateDatabase(url, { role })

  await expectMigrated(url, role)
})

test('an owner who may not create roles is told first what to run, exactly', async () => {
  const role = newServiceRole()
  const login = await createLogin()
  const url = await createDatabase(login)

  const message = await refusalOf(url, role)

  expect(statementsIn(message)).toEqual([
    `create role ${role} nologin;`,
    `grant ${role} to ${login};`,
  ])
  const created = await useStore(
    url,
    undefined,
    ({ sql }) => sql`select to_regnamespace('drizzle') as name`,
  )
  expect(created).toEqual([{ name: null }])
  await runAsAdmin(url, statementsIn(message))
  await migrateDatabase(url, { role })
  await expectMigrated(url, role)
  // Again, as every deployment does.
  await migrateDatabase(url, { role })
})

test('a user who owns nothing is told which rights are missing', async () => {
  const role = newServiceRole()
  const login = await createLogin()
  const url = await createDatabase(login, await createLogin())
  const database = new URL(url).pathname.slice(1)

  const message = await refusalOf(url, role)

  expect(statementsIn(message)).toEqual([
    `create role ${role} nologin;`,
    `grant ${role} to ${login};`,
    `grant create on database ${database} to ${login};`,
    `grant usage, create on schema public to ${login};`,
  ])
  await runAsAdmin(url, statementsIn(message))
  await migrateDatabase(url, { role })
  await expectMigrated(url, role)
})

test('two owners in one cluster have roles of their own, and see nothing of each other', async () => {
  const [role, otherRole] = [newServiceRole(), newServiceRole()]
  const url = await createDatabase(await createLogin('createrole'))
  const otherUrl = await createDatabase(await createLogin('createrole'))
  await migrateDatabase(url, { role })

  expect(await refusalOf(otherUrl, role)).toContain('DATABASE_SERVICE_ROLE')
  await migrateDatabase(otherUrl, { role: otherRole })

  await expectMigrated(url, role)
  await expectMigrated(otherUrl, otherRole)
  const { username, password } = new URL(otherUrl)
  const stranger = Object.assign(new URL(url), { username, password }).href
  await expect(
    useStore(stranger, otherRole, ({ sql }) => sql`select from payments`),
  ).rejects.toMatchObject({
    code: INSUFFICIENT_PRIVILEGE,
  })
})
