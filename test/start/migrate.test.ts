// Tests the command line of `npm run migrate` as a process.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { startScript } from '../support/start-script.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase({ inParts: false })
})
afterAll(() => database.drop())

async function migrate(...args: string[]): Promise<{ code: number | null; text: string }> {
  const env = { DATABASE_URL: database.url }
  const { exited, lines } = startScript('src/start/migrate.ts', { env, args })
  const { code } = await exited
  return { code, text: lines.join('\n') }
}

test('explains its options', async () => {
  const { code, text } = await migrate('--help')

  expect(code).toBe(0)
  expect(text).toContain('Usage: npm run migrate')
})

test('refuses an unknown option', async () => {
  const { code, text } = await migrate('--citrus')

  expect(code).toBe(2)
  expect(text).toMatch(/^migrate: Unknown option '--citrus'/)
  expect(text).toContain('Usage: npm run migrate')
})

test('says that a database without Citus cannot be distributed', async () => {
  const { code, text } = await migrate('--citus')

  expect(code).toBe(1)
  expect(text).toContain('the extension citus is not installed in this database')
})

test('migrates without options', async () => {
  expect((await migrate()).code).toBe(0)
})
