export default {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': './test/support/strip-types.js' },
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  // Two cores: more workers than that only make the processes under test wait for each other.
  maxWorkers: 2,
  testTimeout: 60_000,
}
