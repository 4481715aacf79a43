import { describe, expect, test } from '@jest/globals'
import { REPOSITORY } from '../../../../verify/faults/service-process.ts'
import { loadProduct } from '../../../../verify/model/programs/product.ts'
import { explore } from '../../../../verify/model/space/explore.ts'
import { spaces } from '../../../../verify/model/space/spaces.ts'

/** The largest slice takes 15 seconds of CPU time. The machine may be busy. */
const SLICE_TIMEOUT_MS = 300_000

/** Small slices of the spaces that `npm run model` explores. */
const slices = spaces
  .filter(({ keys, isStepwise }) => keys === 1 && !isStepwise)
  .map((space) => ({
    ...space,
    workers: 1,
    requests: 1,
    budget: { crashes: 1, expiries: 0, losses: Math.min(space.budget.losses, 1), early: 0 },
  }))

describe('a slice of a space', () => {
  test.each(slices)(
    '$name violates no invariant',
    async (space) => {
      const product = await loadProduct(REPOSITORY)

      const { violations, states, transitions } = await explore(product, space)

      expect(violations).toEqual([])
      // A smaller result would mean that part of the slice was not explored.
      expect(states).toBeGreaterThan(100)
      expect(transitions).toBeGreaterThan(states)
    },
    SLICE_TIMEOUT_MS,
  )
})
