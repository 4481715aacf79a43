import { afterAll, afterEach, beforeAll, expect, jest, test } from '@jest/globals'
import { arrayTypes } from '../../../../src/db/connection/client.ts'
import { readDatabase } from '../../../../src/db/connection/driver.ts'
import { Session } from '../../../../src/db/connection/pool/session.ts'
import type { SessionSettings } from '../../../../src/db/connection/pool/session-settings.ts'
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts'

const TIMEOUT_MS = 10_000

let database: TestDatabase
const sessions: Session[] = []

beforeAll(async () => {
  database = await createTestDatabase()
})

afterEach(async () => {
  jest.restoreAllMocks()
  // Without a limit the driver (postgres 3.4.9) waits forever for a statement that was lost with its
  // connection.
  await Promise.all(sessions.splice(0).map(({ sql }) => sql.end({ timeout: 0 })))
})

afterAll(() => database.drop())

function open(settings: SessionSettings = {}): Session {
  const session = new Session(
    readDatabase(database.url, TIMEOUT_MS),
    { types: arrayTypes },
    settings,
  )
  sessions.push(session)
  return session
}

/** Lets the check of a session be too old. */
function letTimePass(): void {
  const now = performance.now()
  jest.spyOn(performance, 'now').mockReturnValue(now + 10_001)
}

test('says which role the log-in role may not have', async () => {
  await expect(open({ role: 'no_such_role' }).prove()).rejects.toThrow(
    'The session could not be set up: role "no_such_role" does not exist.',
  )
})

test('executes nothing after its end, and does not connect again', async () => {
  const session = open({ statement_timeout: 5_000 })
  await session.prove()
  const [row] = await session.sql<{ pid: number }[]>`select pg_backend_pid() as pid`
  const { sql } = open()

  await sql`select pg_terminate_backend(${row?.pid ?? 0}, 5000)`
  await expect(session.sql`create table kept (id int)`).rejects.toThrow()

  expect(session.isOver).toBe(true)
  await expect(session.sql`create table kept (id int)`).rejects.toMatchObject({
    code: 'CONNECTION_CLOSED',
  })
  expect(await sql`select to_regclass('kept') as found`).toEqual([{ found: null }])
})

test('notices after ten seconds that its settings are lost', async () => {
  const session = open({ statement_timeout: 5_000 })
  await session.prove()
  await session.sql`discard all`
  await session.prove()

  letTimePass()
  await expect(session.prove()).rejects.toThrow(/lost .*statement_timeout, atomic.session_owner/)
})
