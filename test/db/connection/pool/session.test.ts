import { afterEach, expect, test } from '@jest/globals'
import { arrayTypes } from '../../../../src/db/connection/client.ts'
import { readDatabase } from '../../../../src/db/connection/driver.ts'
import { Session } from '../../../../src/db/connection/pool/session.ts'
import type { SessionSettings } from '../../../../src/db/connection/pool/session-settings.ts'
import { database } from '../../../support/own-store.ts'

const TIMEOUT_MS = 10_000

const sessions: Session[] = []

afterEach(() => {
  for (const session of sessions.splice(0)) session.lose()
})

function open(settings: SessionSettings = {}): Session {
  const session = new Session(
    readDatabase(database.url, TIMEOUT_MS),
    { types: arrayTypes },
    settings,
  )
  sessions.push(session)
  return session
}

test('says which role the log-in role may not have', async () => {
  await expect(open({ role: 'no_such_role' }).executeText('select 1')).rejects.toThrow(
    'The session could not be set up: role "no_such_role" does not exist.',
  )
})

test('executes nothing after its end, and does not connect again', async () => {
  const session = open({ statement_timeout: 5_000 })
  const [row] = (await session.executeText('select pg_backend_pid() as pid')) as { pid: number }[]
  const other = open()

  await other.executeText('select pg_terminate_backend($1, 5000)', [row?.pid ?? 0])
  await expect(session.executeText('create table kept (id int)')).rejects.toThrow()

  expect(session.isOver).toBe(true)
  await expect(session.executeText('create table kept (id int)')).rejects.toMatchObject({
    code: 'CONNECTION_ENDED',
  })
  expect(await other.executeText(`select to_regclass('kept') as found`)).toEqual([{ found: null }])
})
