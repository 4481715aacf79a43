// The providers that settings give a process, for the tests of a file. It makes a database for them.
import { afterAll, beforeAll } from '@jest/globals'
import { pino } from 'pino'
import { readConfig } from '../../src/config.ts'
import type { Store } from '../../src/db/connection/client.ts'
import { silentObserver } from '../../src/engine/observer.ts'
import { wireEventReaders, wireProviders } from '../../src/wiring.ts'
import { openTestStore } from '../db/reservations.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'

type Settings = Readonly<Record<string, string>>

export function wiredProviders() {
  let database: TestDatabase
  let store: Store
  beforeAll(async () => {
    database = await createTestDatabase()
    store = openTestStore(database.url, 1)
  })
  afterAll(async () => {
    await store.close()
    await database.drop()
  })
  return {
    async names(settings: Settings): Promise<string[]> {
      const base = { store, observe: silentObserver, log: pino({ level: 'silent' }) }
      const { all } = await wireProviders(readConfig(settings), base)
      return all.map(({ name }) => name)
    },
    /** The providers whose events are read. */
    async readers(settings: Settings): Promise<string[]> {
      return [...(await wireEventReaders(readConfig(settings))).keys()]
    },
  }
}
