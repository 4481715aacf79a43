export default {
  testEnvironment: './test/support/test-environment.js',
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': './test/support/strip-types.js' },
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  globalSetup: './test/support/global-setup.ts',
  globalTeardown: './test/support/global-teardown.ts',
  setupFiles: ['./test/support/encryption.ts'],
  testSequencer: './test/support/slowest-first.js',
  // For two cores: five files run at once, because most wait for timers and processes in part.
  maxWorkers: 5,
  testTimeout: 60_000,
}
