import { arePageFaultsSlow } from './dev/page-faults.ts'

// Tests shorten the times of src/constants.ts.
process.env['TEST_CONSTANTS'] = 'true'

const isSlow = arePageFaultsSlow()
if (isSlow) process.env['TEST_MACHINE'] = 'slow'

/** They need a program that npm does not have, or start many processes. */
const SYSTEM = '.system.test.ts'

/** By TESTS: what `npm test` runs, what `npm run test:all` runs, and what it has besides. */
const PATTERNS = {
  npm: { testMatch: testsNamed('.test.ts'), testPathIgnorePatterns: [`\\${SYSTEM}$`] },
  all: { testMatch: testsNamed('.test.ts') },
  system: { testMatch: testsNamed(SYSTEM) },
}

function testsNamed(end) {
  return ['test', 'extras/*/test'].map((folder) => `<rootDir>/${folder}/**/*${end}`)
}

export default {
  runner: './test/runner/runner.js',
  transform: {},
  ...PATTERNS[process.env['TESTS'] ?? 'npm'],
  globalSetup: './test/support/global-setup.ts',
  globalTeardown: './test/support/global-teardown.ts',
  setupFiles: ['./test/support/encryption.ts'],
  testSequencer: './test/support/slowest-first.js',
  // For two cores: the files wait for timers and other processes half of their time.
  maxWorkers: isSlow ? 4 : 5,
  // A test that passes never waits for it.
  testTimeout: isSlow ? 300_000 : 120_000,
}
