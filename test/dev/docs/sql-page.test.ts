import { setImmediate as turn } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { examples, forwarders, renderSqlPage } from '../../../dev/docs/sql-page.ts'
import type { RecordingSql } from '../../../dev/docs/sql/record-statements.ts'
import { recordStatements } from '../../../dev/docs/sql/record-statements.ts'
import { findDatabaseFunctions } from '../../../dev/docs/sql/source-functions.ts'
import { types, type Sql, type Store } from '../../../src/db/connection/client.ts'
import { connectDriver, readDatabase } from '../../../src/db/connection/driver.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database.ts'
import { readPage } from '../../support/named-tests.ts'

const functions = findDatabaseFunctions()
const statementFunctions = functions.filter(({ name }) =>
  examples.some((example) => example.name === name),
)
const namesOf = (list: readonly { readonly name: string }[]) => list.map(({ name }) => name)

test('the page is current', async () => {
  expect(await renderSqlPage()).toBe(readPage('docs/sql.md'))
})

test('every function of src/db that sends a statement has an example', () => {
  const missing = functions.filter(
    ({ name, isPart }) =>
      !isPart && !namesOf(examples).includes(name) && !Object.hasOwn(forwarders, name),
  )

  expect(functions.length).toBeGreaterThan(100)
  expect(missing).toEqual([])
})

test('every example and every forwarder is an exported function of src/db', () => {
  const names = namesOf(functions)

  const named = [...namesOf(examples), ...Object.keys(forwarders)]
  expect(named.filter((name) => names.filter((other) => other === name).length !== 1)).toEqual([])
})

test('a function that only forwards has no statement', () => {
  const own = functions.filter(({ name, hasTemplate }) => hasTemplate && name in forwarders)

  expect(own).toEqual([])
})

test('every statement and every part has a sentence that says what it is for', () => {
  const described = [...statementFunctions, ...functions.filter(({ isPart }) => isPart)]

  expect(namesOf(described.filter(({ purpose }) => purpose === ''))).toEqual([])
})

const numbered = examples.map((example, index) => [`${index}: ${example.name}`, example] as const)

test.each(numbered)('%s differs from what is sent in white space only', async (_, example) => {
  const statements = await recordStatements(example.send, example.answers)

  expect(statements.length).toBeGreaterThan(0)
  for (const { shown, sent } of statements) expect(withoutSpace(shown)).toBe(withoutSpace(sent))
})

function withoutSpace(text: string): string {
  return text.replaceAll(/\s/g, '')
}

describe('on PostgreSQL', () => {
  let database: TestDatabase
  let sql: Sql
  let sent: string[] = []

  beforeAll(async () => {
    database = await createTestDatabase()
    const debug = (_connection: number, text: string) => void sent.push(text)
    sql = connectDriver(readDatabase(database.url, 20_000), { types, debug })
  })

  afterAll(async () => {
    await sql.end({ timeout: 0 })
    await database.drop()
  })

  test.each(numbered)('%s is what the driver sends first', async (_, example) => {
    const [statement] = await recordStatements(example.send, example.answers)
    sent = []

    await sendOver(sql, example.send)

    expect(sent[0]?.trim()).toBe(statement?.sent.trim())
  })

  test.each(numbered)('%s is accepted, also as it is laid out', async (_, example) => {
    const statements = await recordStatements(example.send, example.answers)
    const prepared = statements.filter(({ sent: text }) => PREPARABLE.test(text))

    for (const { shown } of prepared) {
      await sql.unsafe(`prepare shown as ${shown}`)
      await sql.unsafe('deallocate shown')
    }

    const others = statements.filter((statement) => !prepared.includes(statement))
    expect(others.map(({ shown }) => shown).filter((text) => !UNPREPARABLE.test(text))).toEqual([])
  })
})

const PREPARABLE = /^\s*(--.*\s*)*(with|select|insert|update|delete)\b/i
const UNPREPARABLE = /^(begin|commit|set local role none|do|grant|create index)\b/

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
