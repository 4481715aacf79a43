import { expect, test } from '@jest/globals'
import { findPossible } from '../../../verify/faults/options.ts'
import { mutants } from '../../../verify/faults/mutants/mutants.ts'
import { scenarios } from '../../../verify/faults/scenarios.ts'

const ALL = () => true

test('a machine with every program leaves nothing out', () => {
  const possible = findPossible(ALL, true)

  expect(possible.scenarios).toEqual(scenarios.map(({ name }) => name))
  expect(possible.mutants).toEqual(mutants)
  expect(possible.leftOut).toEqual([])
})

test('without an extra that is a second provider, what needs one is left out, and said', () => {
  const { leftOut } = findPossible(ALL, false)

  expect(leftOut).toEqual(
    [
      'payment.create.routed',
      'payment.create.moved',
      'mutant moves-in-doubt',
      'mutant may-move-after-a-doubt',
    ].map((what) => `left out: ${what}, because no extra is a second provider`),
  )
})

test('without pgbouncer its scenario is left out, and said', () => {
  const { scenarios: left, leftOut } = findPossible((program) => program !== 'pgbouncer', true)

  expect(left).not.toContain('payment.create.pooled')
  expect(leftOut).toEqual(['left out: payment.create.pooled, because pgbouncer is not installed'])
})
