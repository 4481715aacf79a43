// What a call refuses with, for tests that look at more of a problem than its type.
import { ProblemError } from '../../src/domain/problems/problem-error.ts'

/** The problem that a function throws; anything else that it does fails the test. */
export function problemOf(call: () => unknown): ProblemError {
  try {
    call()
  } catch (error) {
    if (error instanceof ProblemError) return error
    throw error
  }
  throw new Error('expected a ProblemError, but nothing was thrown')
}
