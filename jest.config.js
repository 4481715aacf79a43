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
  // For two cores: three files run at once, because some wait for timers in part. Five take no less time in
  // all, because each has processes of its own, and tests exceed their limits.
  maxWorkers: isSlow ? 2 : 3,
  testTimeout: isSlow ? 180_000 : 60_000,
}
