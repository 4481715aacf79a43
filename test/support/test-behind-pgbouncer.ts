import { test } from '@jest/globals'
import { hasPgBouncer } from './pgbouncer.ts'

/** `test` on a machine with PgBouncer, otherwise `test.skip`, except in CI, which installs it. */
export const testBehindPgBouncer =
  hasPgBouncer || process.env['CI'] !== undefined ? test : test.skip
