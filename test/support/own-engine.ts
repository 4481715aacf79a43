// An engine of the test file's own, with its database and its stand-in. Import it to use it.
import { afterAll, beforeAll } from '@jest/globals'
import { startTestEngine, type TestEngine } from './engine.ts'

export let t: TestEngine

beforeAll(async () => {
  t = await startTestEngine()
})

afterAll(() => t.stop())
