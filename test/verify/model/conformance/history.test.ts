import { beforeAll, expect, test } from '@jest/globals'
import { seededRandom } from '../../../../verify/simulate/random.ts'
import { REPOSITORY } from '../../../../verify/faults/service-process.ts'
import { loadProduct } from '../../../../verify/model/programs/product.ts'
import type { Schema } from '../../../../verify/model/store/schema.ts'
import { runHistory, type HistoryCounts } from '../../../../verify/model/conformance/history.ts'
import { database } from '../../../support/own-store.ts'

const RUNS = Number(process.env['PROPERTY_RUNS'] ?? 10)
const SEED = Math.floor(Math.random() * 2 ** 31)

let schema: Schema

beforeAll(async () => {
  ;({ schema } = await loadProduct(REPOSITORY))
})

test(
  `the in-memory store gives the results of PostgreSQL in ${RUNS} histories from seed ${SEED}`,
  async () => {
    const seen: HistoryCounts = { statements: 0, waits: 0, deadlocks: 0, errors: 0 }

    // One history in seven has a statement that waits. Histories without waits would test little.
    const isEnough = (run: number) => run >= RUNS && (seen.waits > 0 || run >= 10 * RUNS)
    for (let run = 0; !isEnough(run); run += 1) {
      await runHistory(schema, database.adminUrl, seededRandom(SEED + run), seen)
    }

    expect(seen.waits).toBeGreaterThan(0)
    expect(seen.statements).toBeGreaterThan(seen.waits)
  },
  60_000 + RUNS * 5_000,
)
