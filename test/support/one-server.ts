// Tests what only a single server shows.
import { test } from '@jest/globals'
import { isOnCitus } from './citus.ts'

/** Skipped on Citus, which has plans, statistics, waiting sessions and defaults on its nodes. */
export const testOnOneServer = isOnCitus() ? test.skip : test
