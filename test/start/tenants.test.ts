// Tests `npm run tenants` as a process: the streams of its output, and its exit codes.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { startProcess } from '../support/processes.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

async function run(args: readonly string[], url = database.url) {
  const env = { DATABASE_URL: url, STORE_TIMEOUT_MS: '2000' }
  const process = startProcess('src/start/tenants.ts', { args, env })
  const { code } = await process.exited
  return { code, text: process.lines.join('\n') }
}

test('creates and lists a tenant', async () => {
  const made = await run(['create', 'My shop'])
  const list = await run(['list'])

  expect(made).toEqual({
    code: 0,
    text: expect.stringMatching(
      /^tenant  tnt_\w{26}\nkey     key_\w{26}\nscopes  \*\napi key sk_atomic_\w{38}$/,
    ),
  })
  expect(list.code).toBe(0)
  expect(list.text).toContain('My shop')
})

test('prints the help for a usage error', async () => {
  const { code, text } = await run(['remove'])

  expect(code).toBe(2)
  expect(text).toMatch(/^tenants: no such command\n\nUsage: npm run tenants/)
})

test.each([
  ['the store is out of reach', 'postgres://127.0.0.1:1/none', /^tenants: .*ECONNREFUSED[^\n]*$/],
  ['there is no DATABASE_URL', '', /^tenants: DATABASE_URL is not set[^\n]*$/],
])('prints one line when %s', async (_, url, reason) => {
  expect(await run(['list'], url)).toEqual({ code: 1, text: expect.stringMatching(reason) })
})
