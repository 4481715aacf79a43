import { expect, test } from '@jest/globals'
import { readPatched } from '../../../../verify/faults/mutants/patch.ts'
import { REPOSITORY } from '../../../../verify/faults/service-process.ts'
import { loadProduct } from '../../../../verify/model/programs/product.ts'
import { explore } from '../../../../verify/model/space/explore.ts'
import { mutants } from '../../../../verify/model/mutants/mutants.ts'
import { withMutatedProduct } from '../../../../verify/model/mutants/mutated-product.ts'

test('every mutant has a unique name, a description and patches', () => {
  expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length)
  for (const { breaks, patches } of mutants) {
    expect(breaks).not.toBe('')
    expect(patches.length).toBeGreaterThan(0)
  }
})

test.each(mutants)('$name applies to the product', async ({ patches }) => {
  await expect(readPatched(patches)).resolves.toBeDefined()
})

// `npm run model` checks all mutants, and with `--quick` those with the smallest spaces.
const SMALL = ['capture-posted-twice', 'refusal-fails-the-batch', 'moved-in-doubt']

test.each(mutants.filter(({ name }) => SMALL.includes(name)))(
  'finds $name, and no violation by the product in the same space',
  async (mutant) => {
    const isExpected = (message: string) => message.startsWith(mutant.foundBy)

    const unmodified = await explore(await loadProduct(REPOSITORY), mutant.space)
    const mutated = await withMutatedProduct(mutant, (product) =>
      explore(product, mutant.space, { continueAfter: (message) => !isExpected(message) }),
    )

    expect(unmodified.violations).toEqual([])
    expect(mutated.violations.filter(({ message }) => isExpected(message))).toHaveLength(1)
  },
)
