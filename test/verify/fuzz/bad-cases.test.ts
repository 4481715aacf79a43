// What is drawn by chance is of use: all operations, all kinds of defects, and the same again by the same seed.
import { expect, test } from '@jest/globals'
import * as fc from 'fast-check'
import { badCases } from '../../../verify/fuzz/bad-cases.ts'
import { corpus } from '../../../verify/fuzz/corpus/corpus.ts'
import { ofFields } from '../../../verify/fuzz/defects/of-fields.ts'
import { ofConnections, ofHeaders } from '../../../verify/fuzz/defects/of-headers.ts'
import { ofJson } from '../../../verify/fuzz/defects/of-json.ts'
import { ofSchema } from '../../../verify/fuzz/defects/of-schema.ts'
import { ofStates } from '../../../verify/fuzz/defects/of-states.ts'
import { ofTargets } from '../../../verify/fuzz/defects/of-targets.ts'
import { operations } from '../../../verify/fuzz/operations.ts'
import { renderRequest } from '../../../verify/fuzz/render.ts'

const drawn = fc.sample(badCases, { seed: 1, numRuns: 2_500 })

test('the corpus has three hundred cases at least, each with a name of its own', () => {
  expect(corpus.length).toBeGreaterThanOrEqual(300)
  expect(new Set(corpus.map(({ label }) => label)).size).toBe(corpus.length)
})

test('each case tells which problem it has to be told', () => {
  expect([...corpus, ...drawn].filter(({ types }) => types.length === 0)).toEqual([])
})

test('every operation of the document is asked for', () => {
  const asked = new Set(drawn.map(({ operation }) => operation))

  expect(operations.filter(({ id }) => !asked.has(id))).toEqual([])
})

test('every kind of defect is made', () => {
  const defects = [ofJson, ofSchema, ofFields, ofHeaders, ofTargets, ofStates, ofConnections].flat()
  const labels = drawn.map(({ label }) => label).join('\n')

  expect(defects.filter(({ kind }) => !labels.includes(kind))).toEqual([])
})

test('most have a body, and a header that is not as usual', () => {
  const withBody = drawn.filter(({ draft }) => draft.body !== undefined)

  expect(withBody.length).toBeGreaterThan(drawn.length / 2)
})

test('the same seed draws the same', () => {
  const again = fc.sample(badCases, { seed: 1, numRuns: 100 })

  expect(again).toEqual(drawn.slice(0, 100))
})

test('each character is a byte', () => {
  for (const { draft } of drawn) {
    const texts = [draft.target, ...draft.headers.flat(), draft.body ?? '']
    expect(texts.filter((text) => /[^\0-\u00FF]/.test(text))).toEqual([])
    expect(renderRequest(draft, () => 'x').length).toBeGreaterThan(0)
  }
})
