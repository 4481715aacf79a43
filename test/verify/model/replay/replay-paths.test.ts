import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { REPOSITORY } from '../../../../verify/faults/service-process.ts'
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts'
import { loadProduct } from '../../../../verify/model/programs/product.ts'
import { replayedSpaces } from '../../../../verify/model/space/spaces.ts'
import { replayPaths } from '../../../../verify/model/replay/replay-paths.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase()
})

afterAll(() => database.drop())

test.each(replayedSpaces)(
  'PostgreSQL has the store of the model after every transition of some paths: $name',
  async (space) => {
    const product = await loadProduct(REPOSITORY)
    const small = { ...space, workers: 1, budget: { ...space.budget, expiries: 0, losses: 0 } }

    const replayed = await replayPaths(product, small, { url: database.url, paths: 8 })

    expect(replayed.paths).toBe(8)
    expect(replayed.covered).toBeGreaterThan(20)
  },
)
