export default {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '\\.ts$': './test/support/strip-types.js',
    '\\.yaml$': './test/support/parse-yaml.js',
  },
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  globalSetup: './test/support/global-setup.ts',
  globalTeardown: './test/support/global-teardown.ts',
  // Two cores: more workers than that only make the processes under test wait for each other.
  maxWorkers: 2,
  testTimeout: 60_000,
}
