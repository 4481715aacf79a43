import { expect, test } from '@jest/globals'
import { readPatched } from '../../../../verify/faults/mutants/mutants.ts'
import { runTask } from '../../../../verify/model/command/run-task.ts'
import { mutants } from '../../../../verify/model/mutants/mutants.ts'

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
test('a mutant is found, and the product violates nothing in the same space', async () => {
  const name = 'refusal-fails-the-batch'

  expect(await runTask({ kind: 'mutant', name }, () => {})).toMatchObject({ passed: true })
})
