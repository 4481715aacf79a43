import { expect, test } from '@jest/globals'
import { REPOSITORY } from '../../../../verify/faults/service-process.ts'
import { loadProduct } from '../../../../verify/model/programs/product.ts'
import { findByName } from '../../../../verify/model/command/tasks.ts'
import { explore } from '../../../../verify/model/space/explore.ts'
import { LONGEST, slices, spaces } from '../../../../verify/model/space/spaces.ts'

test('there is a slice of all other spaces with one key or batches, of events, a fallback and one reference', () => {
  const names = spaces
    .filter(({ keys, members, isStepwise, appliers, fallback, provider }) => {
      if (appliers > 0) return appliers === 2
      return fallback ? provider.delays : (keys === 1 && !isStepwise) || members === 2
    })
    .filter(({ name }) => !LONGEST.includes(name))
    .map(({ name }) => `slice-of-${name}`)
  const sliced = slices.map(({ name }) => name)

  expect(sliced).toEqual(expect.arrayContaining(names))
  expect(sliced.filter((name) => !names.includes(name))).toEqual([
    'slice-of-one-reference',
    'slice-of-one-reference-of-refunds',
  ])
  expect(slices.length).toBeGreaterThan(5)
})

// `npm run model -- --quick` explores all slices.
test('a slice violates no invariant', async () => {
  const slice = findByName(slices, 'slice-of-refund.create-3x3x3')

  const { violations, states, transitions } = await explore(await loadProduct(REPOSITORY), slice)

  expect(violations).toEqual([])
  // A smaller result would mean that part of the slice was not explored.
  expect(states).toBeGreaterThan(400)
  expect(transitions).toBeGreaterThan(states)
})
