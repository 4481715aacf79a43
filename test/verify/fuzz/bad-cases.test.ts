// Checks the drawn requests: they cover all operations and all kinds of defects, and a seed repeats
// them.
import { expect, test } from '@jest/globals'
import * as fc from 'fast-check'
import { badCases } from '../../../verify/fuzz/cases.ts'
import { corpus } from '../../../verify/fuzz/corpus/corpus.ts'
import { fieldDefects } from '../../../verify/fuzz/defects/fields.ts'
import { connectionDefects, headerDefects } from '../../../verify/fuzz/defects/headers.ts'
import { jsonDefects } from '../../../verify/fuzz/defects/json.ts'
import { schemaDefects, stateDefects } from '../../../verify/fuzz/defects/schema.ts'
import { targetDefects } from '../../../verify/fuzz/defects/targets.ts'
import { operations } from '../../../verify/fuzz/operations.ts'
import { renderRequest } from '../../../verify/fuzz/draft.ts'

const drawn = fc.sample(badCases, { seed: 1, numRuns: 4_000 })

test('the corpus has at least 300 cases, each with a unique label', () => {
  expect(corpus.length).toBeGreaterThanOrEqual(300)
  expect(new Set(corpus.map(({ label }) => label)).size).toBe(corpus.length)
})

test('each case names the expected problems', () => {
  expect([...corpus, ...drawn].filter(({ types }) => types.length === 0)).toEqual([])
})

test('the drawn requests cover every operation of openapi.yaml', () => {
  const drawnOperations = new Set(drawn.map(({ operation }) => operation))

  expect(operations.filter(({ id }) => !drawnOperations.has(id))).toEqual([])
})

test('the drawn requests cover every kind of defect', () => {
  const defects = [
    jsonDefects,
    schemaDefects,
    fieldDefects,
    headerDefects,
    targetDefects,
    stateDefects,
    connectionDefects,
  ].flat()
  const labels = drawn.map(({ label }) => label).join('\n')

  expect(defects.filter(({ kind }) => !labels.includes(kind))).toEqual([])
})

test('the same seed draws the same requests', () => {
  const again = fc.sample(badCases, { seed: 1, numRuns: 100 })

  expect(again).toEqual(drawn.slice(0, 100))
})

test('each character of a request is one byte', () => {
  const texts = drawn.flatMap(({ draft }) => [
    draft.target,
    ...draft.headers.flat(),
    draft.body ?? '',
  ])
  expect(texts.filter((text) => /[^\0-\u00FF]/.test(text))).toEqual([])
  const rendered = drawn.map(({ draft }) => renderRequest(draft, () => 'x'))
  expect(rendered.filter(({ length }) => length === 0)).toEqual([])
})
