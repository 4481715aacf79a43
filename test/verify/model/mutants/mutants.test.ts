import { expect, test } from '@jest/globals'
import { REPOSITORY } from '../../../../verify/faults/service-process.ts'
import { loadProduct } from '../../../../verify/model/programs/product.ts'
import { explore } from '../../../../verify/model/space/explore.ts'
import { mutants } from '../../../../verify/model/mutants/mutants.ts'
import { withMutatedProduct } from '../../../../verify/model/mutants/mutated-product.ts'

test('mutants have names of their own, and reasons', () => {
  expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length)
  for (const { breaks, patches } of mutants) {
    expect(breaks).not.toBe('')
    expect(patches.length).toBeGreaterThan(0)
  }
})

/** Mutants whose spaces have only a few hundred states; `npm run model` checks all of them. */
const quick = ['capture-posted-twice', 'next-phase-without-a-record', 'check-then-insert']

test.each(mutants.filter(({ name }) => quick.includes(name)))(
  '$name is found, and the product is sound in the same space',
  async (mutant) => {
    const isIt = (what: string) => what.startsWith(mutant.foundBy)

    const sound = await explore(await loadProduct(REPOSITORY), mutant.space)
    const found = await withMutatedProduct(mutant, (product) =>
      explore(product, mutant.space, { continueAfter: (what) => !isIt(what) }),
    )

    expect(sound.violations).toEqual([])
    expect(found.violations.filter(({ message }) => isIt(message))).toHaveLength(1)
  },
)
