// Time that passes when a test says so, for those who wait by one kind of timer; all else runs as it does.
import { jest } from '@jest/globals'

const ALL = [
  'Date',
  'hrtime',
  'nextTick',
  'performance',
  'queueMicrotask',
  'setImmediate',
  'clearImmediate',
  'setInterval',
  'clearInterval',
  'setTimeout',
  'clearTimeout',
] as const

const KINDS = {
  intervals: ['setInterval', 'clearInterval'],
  timeouts: ['setTimeout', 'clearTimeout'],
} as const

/** Until `jest.useRealTimers()`. */
export function fakeOnly(kind: keyof typeof KINDS): void {
  const faked: readonly string[] = KINDS[kind]
  jest.useFakeTimers({ doNotFake: ALL.filter((name) => !faked.includes(name)) })
}
