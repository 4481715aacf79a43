import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { REPOSITORY } from '../../../../verify/faults/service-process.ts'
import { openStore } from '../../../../src/db/connection/client.ts'
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts'
import { loadProduct } from '../../../../verify/model/programs/product.ts'
import { replayedSpaces } from '../../../../verify/model/space/spaces.ts'
import type { Space } from '../../../../verify/model/space/space.ts'
import { replayPaths } from '../../../../verify/model/replay/replay-paths.ts'

/** Each returns the rows of a statement in another order. */
const JOINS = ['nestloop', 'hashjoin', 'mergejoin'] as const

let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase()
})

afterAll(() => database.drop())

test.each(replayedSpaces)(
  'PostgreSQL has the store of the model after every transition of some paths: $name',
  async (space) => {
    const product = await loadProduct(REPOSITORY)

    const replayed = await replayPaths(product, partOf(space), { url: database.url, paths: 2 })

    expect(replayed.paths).toBe(2)
    expect(replayed.covered).toBeGreaterThan(20)
  },
)

test.each(JOINS)(
  'PostgreSQL has the store of the model with joins of one kind: %s',
  async (join) => {
    const own = await createTestDatabase()
    const { url } = own
    try {
      await useJoinsOnly(url, join)
      const product = await loadProduct(REPOSITORY)
      const space = replayedSpaces.find(({ name }) => name === 'replayed-batches') as Space

      const replayed = await replayPaths(product, partOf(space), { url, paths: 2 })

      expect(replayed.paths).toBe(2)
    } finally {
      await own.drop()
    }
  },
)

const partOf = (space: Space): Space => ({
  ...space,
  workers: 1,
  budget: { ...space.budget, expiries: 0, losses: 0 },
})

async function useJoinsOnly(url: string, kind: string): Promise<void> {
  const store = openStore({ url, applicationName: 'test', poolSize: 1, timeoutMs: 10_000 })
  const name = new URL(url).pathname.slice(1)
  for (const other of JOINS) {
    const value = other === kind ? 'on' : 'off'
    await store.sql.unsafe(`alter database ${name} set enable_${other} = ${value}`)
  }
  await store.close()
}
