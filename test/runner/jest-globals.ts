// What test files import as `@jest/globals`.
import { jestExpect } from '@jest/expect'
import { ModernFakeTimers } from '@jest/fake-timers'
import { ModuleMocker } from 'jest-mock'

export { afterAll, afterEach, beforeAll, beforeEach, describe, it, test } from 'jest-circus'
export const expect = jestExpect

const mocker = new ModuleMocker(globalThis)
const timers = new ModernFakeTimers({
  config: { fakeTimers: {}, rootDir: process.cwd() } as never,
  global: globalThis,
})

export const jest = {
  fn: mocker.fn.bind(mocker),
  spyOn: mocker.spyOn.bind(mocker),
  restoreAllMocks: () => mocker.restoreAllMocks(),
  useFakeTimers: (options?: object) => timers.useFakeTimers(options),
  useRealTimers: () => timers.useRealTimers(),
  advanceTimersByTime: (ms: number) => timers.advanceTimersByTime(ms),
  advanceTimersByTimeAsync: (ms: number) => timers.advanceTimersByTimeAsync(ms),
  getTimerCount: () => timers.getTimerCount(),
}
