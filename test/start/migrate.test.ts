// Tests the command line of `npm run migrate` as a process.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { openTestStore } from '../db/reservations.ts'
import { startScript } from '../support/start-script.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

async function migrate(...args: string[]): Promise<{ code: number | null; text: string }> {
  return await migrateWith({}, args)
}

async function migrateWith(own: Record<string, string>, args: readonly string[] = []) {
  const env = { DATABASE_URL: database.url, ...own }
  const { exited, lines } = startScript('src/start/migrate.ts', { env, args })
  const { code } = await exited
  return { code, text: lines.join('\n') }
}

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

test('stores for the owner how long history is kept', async () => {
  const owner = openTestStore(database.url, 1)
  const readDays = async () => {
    const rows = await owner.sql<{ records: string; days: number }[]>`
      select records, days from retention_periods
    `
    return Object.fromEntries(rows.map(({ records, days }) => [records, days]))
  }
  const usual = { deliveries: 30, phase_runs: 180, events: 0, admin_actions: 0, payment_details: 0 }

  expect(await readDays()).toEqual(usual)
  await migrateWith({ AUDIT_RETENTION_DAYS: '400', TIMELINE_RETENTION_DAYS: '200' })
  expect(await readDays()).toEqual({ ...usual, phase_runs: 200, admin_actions: 400 })
  await migrate()
  expect(await readDays()).toEqual(usual)
  await owner.close()
})
