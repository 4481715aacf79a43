// Returns the problem that a call throws, for tests that check more than its type.
import { ProblemError } from '../../src/domain/problems/problem-error.ts'

/** Fails the test when the function throws another error or none. */
export function problemOf(call: () => unknown): ProblemError {
  try {
    call()
  } catch (error) {
    if (error instanceof ProblemError) return error
    throw error
  }
  throw new Error('expected a ProblemError, but nothing was thrown')
}
