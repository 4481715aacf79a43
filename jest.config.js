import { arePageFaultsSlow } from './dev/page-faults.ts'

const isSlow = arePageFaultsSlow()

export default {
  testEnvironment: './test/support/test-environment.js',
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': './test/support/strip-types.js' },
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  globalSetup: './test/support/global-setup.ts',
  globalTeardown: './test/support/global-teardown.ts',
  setupFiles: ['./test/support/encryption.ts'],
  testSequencer: './test/support/slowest-first.js',
  // For two cores: five files run at once, because most wait for timers and processes in part. On a
  // machine where a process starts slowly, five take longer than two, and tests exceed their limits.
  maxWorkers: isSlow ? 2 : 5,
  testTimeout: isSlow ? 180_000 : 60_000,
}
