// Fakes one kind of timer, so that a test controls its time. All other timers stay real.
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

/** Stays in effect until `jest.useRealTimers()`. */
export function fakeOnly(kind: keyof typeof KINDS): void {
  const faked: readonly string[] = KINDS[kind]
  jest.useFakeTimers({ doNotFake: ALL.filter((name) => !faked.includes(name)) })
}
