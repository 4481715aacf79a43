import { arePageFaultsSlow } from './dev/page-faults.ts'

// Tests shorten the times of src/constants.ts.
process.env['TEST_CONSTANTS'] = 'true'

const isSlow = arePageFaultsSlow()
if (isSlow) process.env['TEST_MACHINE'] = 'slow'

/** They need a program that npm does not have, or start many processes. */
const SYSTEM = '.system.test.ts'

/** By TESTS: what `npm test` runs, what `npm run test:all` runs, and what it has besides. */
const PATTERNS = {
  npm: { testMatch: ['<rootDir>/test/**/*.test.ts'], testPathIgnorePatterns: [`\\${SYSTEM}$`] },
  all: { testMatch: ['<rootDir>/test/**/*.test.ts'] },
  system: { testMatch: [`<rootDir>/test/**/*${SYSTEM}`] },
}

export default {
  testEnvironment: './test/support/test-environment.js',
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': './test/support/strip-types.js' },
  moduleNameMapper: { '^express$': '<rootDir>/test/support/outer-express.js' },
  ...PATTERNS[process.env['TESTS'] ?? 'npm'],
  globalSetup: './test/support/global-setup.ts',
  globalTeardown: './test/support/global-teardown.ts',
  setupFiles: ['./test/support/encryption.ts'],
  testSequencer: './test/support/slowest-first.js',
  // For two cores: three files run at once, because some wait for timers in part. Five take no less time in
  // all, because each has processes of its own, and tests exceed their limits.
  maxWorkers: isSlow ? 2 : 3,
  // A test that passes never waits for it.
  testTimeout: isSlow ? 300_000 : 120_000,
}
