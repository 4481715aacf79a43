// Runs random sequences of all operations, with retries, misused keys and races. After each step,
// amounts, statuses, the ledger and the provider's own log must agree with a model.
//
// A failure prints its seed, and the shortest failing sequence that was found. To reproduce it:
// PROPERTY_SEED=<seed> npm test -- test/properties
import { expect, test } from '@jest/globals'
import * as fc from 'fast-check'
import { expectLedgerBalanced } from '../support/ledger.ts'
import { serviceInProcess } from '../support/for-file.ts'
import { expectAgreement } from './agreement.ts'
import type { Model } from './model-and-real.ts'
import { sequences } from './sequences.ts'

/** Each run is a tenant with up to 24 commands. PROPERTY_RUNS sets another number. */
const USUAL_RUNS = process.env['TESTS'] === 'all' ? 60 : 20
const RUNS = Number(process.env['PROPERTY_RUNS'] ?? USUAL_RUNS)
const TIMEOUT_MS = 60_000 + RUNS * 10_000

const { PROPERTY_SEED } = process.env

const service = serviceInProcess()

const fees = fc.oneof(
  fc.constant({ basisPoints: 0, fixedMinor: 0 }),
  fc.record({
    basisPoints: fc.integer({ min: 0, max: 10_000 }),
    fixedMinor: fc.integer({ min: 0, max: 100 }),
  }),
)

test(
  `amounts, statuses and ledger agree with the model after any sequence of overlapping requests (${RUNS} runs)`,
  async () => {
    let steps = 0
    const property = fc.asyncProperty(fees, sequences, async (schedule, sequence) => {
      await service.provider.control('POST', '/reset')
      const model: Model = { fees: schedule, payments: [], finished: [], refusedKeys: [] }
      const real = { service, tenant: await service.createTenant(schedule) }

      await fc.asyncModelRun(() => ({ model, real }), sequence)

      await expectAgreement(model, real, model.payments)
      // Of the other tenants too: a step checks only the ledger of its own tenant.
      await expectLedgerBalanced(service.store)
      steps += model.finished.length + model.refusedKeys.length
    })
    await fc.assert(property, {
      numRuns: RUNS,
      ...(PROPERTY_SEED === undefined ? {} : { seed: Number(PROPERTY_SEED) }),
    })
    // The generated sequences are useful: they result in many operations.
    expect(steps).toBeGreaterThan(RUNS * 3)
  },
  TIMEOUT_MS,
)
