import { testWith } from './test-with.ts'

export const testBehindPgBouncer = testWith('pgbouncer')
