import { expect, test } from '@jest/globals'
import { findPossible } from '../../../verify/faults/options.ts'
import { mutants } from '../../../verify/faults/mutants/mutants.ts'

test('without redis-server its scenarios and mutants are left out, and said', () => {
  const possible = findPossible((program) => program !== 'redis-server', true)

  expect(possible.scenarios).not.toContain('payment.create.copied')
  expect(possible.scenarios).toContain('payment.create.pooled')
  expect(possible.mutants.length).toBe(mutants.length - 3)
  expect(possible.leftOut).toEqual(
    [
      'payment.create.copied',
      'payment.create.withdrawn',
      'mutant redis-decides-who-executes',
      'mutant copy-outlives-its-response',
      'mutant copy-found-before-authentication',
    ].map((what) => `left out: ${what}, because redis-server is not installed`),
  )
})
