// An engine of the test file's own, with its database and its stand-in. Import it to use it: after each test
// the ledger is checked, and the stand-in is as new.
import { afterAll, afterEach, beforeAll } from '@jest/globals'
import { expectLedgerBalanced } from './ledger.ts'
import { startTestEngine, type TestEngine } from './engine.ts'

export let t: TestEngine

beforeAll(async () => {
  t = await startTestEngine()
})

afterEach(async () => {
  await expectLedgerBalanced(t.engine.store)
  await t.provider.control('POST', '/reset')
})

afterAll(() => t.stop())
