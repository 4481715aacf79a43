// Random sequences of all operations, with retries, misused keys and races, against a model: after each
// step amounts, statuses, the ledger and the provider's own log agree with it.
//
// A failure prints its seed, and the shortest sequence that was found to fail. To see it again:
// PROPERTY_SEED=<seed> npm test -- test/properties
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import * as fc from 'fast-check'
import { startServiceInProcess, type ServiceInProcess } from '../support/service-in-process.ts'
import { expectAgreement } from './agreement.ts'
import type { Model } from './commands.ts'
import { sequences } from './sequences.ts'

/** Each run is a tenant with up to 24 commands. PROPERTY_RUNS says another number. */
const RUNS = Number(process.env['PROPERTY_RUNS'] ?? 150)
const TIMEOUT_MS = 60_000 + RUNS * 10_000

const { PROPERTY_SEED } = process.env

let service: ServiceInProcess

beforeAll(async () => {
  service = await startServiceInProcess()
})
afterAll(() => service.stop())

const fees = fc.oneof(
  fc.constant({ basisPoints: 0, fixedMinor: 0 }),
  fc.record({
    basisPoints: fc.integer({ min: 0, max: 10_000 }),
    fixedMinor: fc.integer({ min: 0, max: 100 }),
  }),
)

test(
  `whatever clients do, and however it overlaps, amounts, statuses and ledger agree with the model (${RUNS} runs)`,
  async () => {
    let steps = 0
    const property = fc.asyncProperty(fees, sequences, async (schedule, sequence) => {
      await service.provider.control('POST', '/reset')
      const model: Model = { fees: schedule, payments: [], finished: [], refusedKeys: [] }
      const real = { service, tenant: await service.createTenant(schedule) }

      await fc.asyncModelRun(() => ({ model, real }), sequence)

      for (const payment of model.payments) await expectAgreement(model, real, payment)
      steps += model.finished.length + model.refusedKeys.length
    })
    await fc.assert(property, {
      numRuns: RUNS,
      ...(PROPERTY_SEED === undefined ? {} : { seed: Number(PROPERTY_SEED) }),
    })
    // The sequences that are generated are worth something: they come to operations, many of them.
    expect(steps).toBeGreaterThan(RUNS * 3)
  },
  TIMEOUT_MS,
)
