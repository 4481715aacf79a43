// Skips the tests that need a program which the machine does not have.
import { test } from '@jest/globals'
import { findProgram, type Program } from './find-program.ts'

/**
 * `test` on a machine that has the program. Otherwise `test.skip`, and a line that names it. In CI, which
 * installs each program, such a test fails.
 */
export function testWith(program: Program): typeof test | typeof test.skip {
  if (findProgram(program) !== undefined || process.env['CI'] !== undefined) return test
  process.stderr.write(`skipped: tests that need ${program}, which is not installed\n`)
  return test.skip
}
