// Each transaction of several statements is made with an error after each of its statements, and before
// its commit. Nothing of it is left.
import { expect, test } from '@jest/globals'
import { examples } from '../../verify/statements/examples.ts'
import { recordStatements } from '../../verify/statements/record-statements.ts'
import { t } from '../support/own-engine.ts'
import { keyCases } from './rollbacks/keys.ts'
import { operationCases } from './rollbacks/operations.ts'
import { otherCases } from './rollbacks/others.ts'
import { Strike, StruckError } from './rollbacks/strike.ts'

const cases = [...keyCases, ...operationCases, ...otherCases]

/** All rows of all tables. */
async function allRows(): Promise<unknown> {
  const { sql } = t.engine.store
  const tables = await sql<{ name: string }[]>`
    select format('%I.%I', schemaname, tablename) as name from pg_tables
    where schemaname = 'public' or (schemaname, tablename) = ('atomic_jobs', 'job_common')
  `
  const selects = tables.map(
    ({ name }) =>
      `select '${name}' as name, string_agg(r::text, e'\\n' order by r::text) as rows from ${name} as r`,
  )
  return await sql.unsafe(selects.join(' union all '))
}

/** The statements that were struck. */
const struck = new Set<string>()

test.each(cases)('$name', async ({ before, run }) => {
  await before?.()
  const { sql } = t.engine.store
  const rows = await allRows()
  let strike: Strike
  let statements = 0
  do {
    strike = new Strike((statements += 1))
    await expect(run(strike.on(sql))).rejects.toThrow(StruckError)
    expect(strike.late).toEqual([])
    expect(await allRows()).toEqual(rows)
  } while (!strike.isBeforeCommit)
  // So each of them was the last one before an error.
  expect(strike.executed).toHaveLength(statements - 1)
  for (const text of strike.executed) struck.add(text)

  await run(sql)

  expect(await allRows()).not.toEqual(rows)
})

/** Each of their statements may be executed alone. */
const NOT_ATOMIC = ['recordProcess', 'tryWriting']

const CHANGE = /^(?:--.*\s*)*(?:insert|update|delete)\b/

test('these are all transactions of src that change something twice', async () => {
  const missing = new Set<string>()
  for (const { name, send, answers } of examples) {
    if (NOT_ATOMIC.includes(name)) continue
    const statements = await recordStatements(send, answers)
    const changes = statements.map((text) => text.trim()).filter((text) => CHANGE.test(text))
    if (changes.length > 1 && changes.some((text) => !struck.has(text))) missing.add(name)
  }

  expect([...missing]).toEqual([])
})
