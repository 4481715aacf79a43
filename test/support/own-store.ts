// A database of the test file's own, and a store on it. Import it to use it.
import { afterAll, beforeAll } from '@jest/globals'
import type { Store } from '../../src/db/connection/client.ts'
import { openTestStore } from '../db/reservations.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'

export let database: TestDatabase
export let store: Store

beforeAll(async () => {
  database = await createTestDatabase()
  store = openTestStore(database.url)
})

afterAll(async () => {
  await store.close()
  await database.drop()
})
