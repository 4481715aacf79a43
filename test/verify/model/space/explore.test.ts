import { expect, test } from '@jest/globals'
import { REPOSITORY } from '../../../../verify/faults/service-process.ts'
import { loadProduct } from '../../../../verify/model/programs/product.ts'
import { explore } from '../../../../verify/model/space/explore.ts'
import { slices, spaces } from '../../../../verify/model/space/spaces.ts'

test('there is a slice of every space with one key or with batches, and of one with events', () => {
  const names = spaces
    .filter(({ keys, members, isStepwise, appliers }) =>
      appliers > 0 ? appliers === 2 : (keys === 1 && !isStepwise) || members === 2,
    )
    .map(({ name }) => `slice-of-${name}`)

  expect(slices.map(({ name }) => name)).toEqual(names)
  expect(slices.length).toBeGreaterThan(5)
})

// `npm run model -- --quick` explores all slices.
test.each(slices.filter(({ name }) => name === 'slice-of-lost-connections'))(
  '$name violates no invariant',
  async (slice) => {
    const { violations, states, transitions } = await explore(await loadProduct(REPOSITORY), slice)

    expect(violations).toEqual([])
    // A smaller result would mean that part of the slice was not explored.
    expect(states).toBeGreaterThan(1_000)
    expect(transitions).toBeGreaterThan(states)
  },
)
