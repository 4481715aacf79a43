// Holds the examples of statements against src and PostgreSQL.
import { setImmediate as turn } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { examples } from '../../verify/statements/examples.ts'
import {
  recordFirst,
  recordStatements,
  type RecordingSql,
} from '../../verify/statements/record-statements.ts'
import {
  findDatabaseFunctions,
  findSourceStatements,
} from '../../verify/statements/source-functions.ts'
import { types, type Sql, type Store } from '../../src/db/connection/client.ts'
import { connectDriver, readDatabase } from '../../src/db/connection/driver.ts'
import { database } from '../support/own-store.ts'

const functions = findDatabaseFunctions()

test('every function of src with a statement has an example', () => {
  const sending = functions.filter(({ isPart, hasTemplate }) => hasTemplate && !isPart)
  const missing = sending.filter(({ name }) => !examples.some((example) => example.name === name))

  expect(sending.length).toBeGreaterThan(100)
  expect(missing).toEqual([])
})

test('every example is of one exported function of src', () => {
  const names = functions.map(({ name }) => name)

  const unknown = examples.filter(
    (example) => names.filter((name) => name === example.name).length !== 1,
  )

  expect(unknown).toEqual([])
})

/** Not by a service, or only by one with Citus, or by another connection. */
const SENT_ELSEWHERE = [
  'db/connection/server/server.ts',
  'migrations/database-facts.ts',
  'migrations/migrate.ts',
  'start/doctor/database.ts',
]

const recordAll = async () =>
  (await Promise.all(examples.map(({ send, answers }) => recordStatements(send, answers)))).flat()

test('the examples send every statement of src', async () => {
  const recorded = await recordAll()

  const missing = findSourceStatements()
    .filter(({ file }) => !SENT_ELSEWHERE.includes(file))
    .filter(({ beginning }) => !recorded.some((statement) => statement.includes(beginning)))

  expect(missing).toEqual([])
})

/** A part of a `with` that changes data. */
const CHANGING_PART =
  /\bas\s+(?:not\s+)?(?:materialized\s+)?\(\s*(?:--.*\s*)*(?:insert|update|delete)\b/i

test('no statement changes data in a common table expression', async () => {
  const changing = (await recordAll()).filter((statement) => CHANGING_PART.test(statement))

  expect(changing).toEqual([])
})

/** Citus allows no function of the time in a `coalesce` or a `case` of an update. */
const REFUSED_BY_CITUS =
  /\bcoalesce\((?:[^()]|\([^()]*\))*now\(\)|\bcase\b(?:(?!\bend\b)[^])*now\(\)/i

test('no update computes a time where Citus refuses it', async () => {
  const updates = (await recordAll()).filter((text) => /^\s*update\s+\w+\s/i.test(text))
  const values = updates.map((text) => text.split(/\bwhere\b/i)[0] ?? '')

  expect(values.length).toBeGreaterThan(40)
  expect(values.filter((text) => REFUSED_BY_CITUS.test(text))).toEqual([])
})

const numbered = examples.map((example, index) => [`${index} ${example.name}`, example] as const)

describe('on PostgreSQL', () => {
  let sql: Sql
  const sent = new Set<string>()

  beforeAll(() => {
    const debug = (_connection: number, text: string) => void sent.add(text.trim())
    sql = connectDriver(readDatabase(database.url, 20_000), { types, debug })
  })

  afterAll(() => sql.end({ timeout: 0 }))

  test.each(numbered)('%s is what the driver sends first', async (_, example) => {
    const first = await recordFirst(example.send, example.answers)
    sent.clear()

    await sendOver(sql, example.send)

    expect([...sent].slice(0, first.length)).toEqual(first.map((statement) => statement.trim()))
  })

  test.each(numbered)('%s is accepted', async (_, example) => {
    const statements = await recordStatements(example.send, example.answers)

    for (const statement of statements) {
      if (PREPARABLE.test(statement)) {
        await sql.unsafe(`prepare example as ${statement}`)
        await sql.unsafe('deallocate example')
      } else {
        expect(statement.trim()).toMatch(UNPREPARABLE)
      }
    }
  })
})

const PREPARABLE = /^\s*(--.*\s*)*(with|select|insert|update|delete)\b/i
const UNPREPARABLE = /^(begin|commit|set local|do|grant|create index)\b/

/** Its result does not matter: the rows of the example do not exist. */
async function sendOver(
  sql: Sql,
  send: (sql: RecordingSql, store: Store) => unknown,
): Promise<void> {
  try {
    const result = await send(sql as RecordingSql, { sql } as Store)
    if (typeof result === 'object' && result !== null && Symbol.asyncIterator in result) {
      for await (const _ of result as AsyncIterable<unknown>);
    }
  } catch {
    // It was sent before.
  }
  // Notifications leave after a turn of the event loop, and before this statement.
  await turn()
  await sql.unsafe('select')
}
