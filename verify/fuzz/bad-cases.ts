// Generates bad requests from openapi.yaml: good requests with one to three random defects. Each
// defect alone makes the request invalid.
import * as fc from 'fast-check'
import type { ProblemType } from '../../src/domain/problems/problems.ts'
import type { Defect, DefectChange } from './defects/defect.ts'
import { fieldDefects } from './defects/fields.ts'
import { connectionDefects, headerDefects } from './defects/headers.ts'
import { jsonDefects } from './defects/json.ts'
import { schemaDefects } from './defects/schema.ts'
import { stateDefects } from './defects/states.ts'
import { targetDefects } from './defects/targets.ts'
import type { Case } from './draft.ts'
import { goodParts, toDraft, weightOf } from './good-requests.ts'
import { operations, type Operation } from './operations.ts'

/** The kinds of defects by weight. Defects of bodies are the most frequent. */
const WEIGHTED: readonly (readonly [weight: number, defects: readonly Defect[]])[] = [
  [40, schemaDefects],
  [12, fieldDefects],
  [6, jsonDefects],
  [6, headerDefects],
  [8, stateDefects],
  [6, targetDefects],
  [1, connectionDefects],
]

const DEFECTS_MAX = 3

interface NamedChange extends DefectChange {
  readonly kind: string
}

function badCasesOf(operation: Operation): fc.Arbitrary<Case> {
  const defects = fc.array(defectsOf(operation), {
    minLength: 1,
    maxLength: DEFECTS_MAX,
    size: 'xsmall',
  })
  return fc.tuple(goodParts(operation), defects).map(([parts, some]) => {
    const types = new Set<ProblemType>(some.flatMap((one) => one.types))
    return {
      label: `${operation.id}: ${some.map(({ kind }) => kind).join(', ')}`,
      operation: operation.id,
      draft: toDraft(some.reduce((now, { change }) => change(now), parts)),
      types: [...types],
    }
  })
}

function defectsOf(operation: Operation): fc.Arbitrary<NamedChange> {
  const weighted = WEIGHTED.flatMap(([weight, defects]) =>
    defects.flatMap(({ kind, forOperation: of }) => {
      const arbitrary = of(operation)?.map((one): NamedChange => ({ ...one, kind }))
      return arbitrary === undefined ? [] : [{ weight, arbitrary }]
    }),
  )
  return fc.oneof(...weighted)
}

/** A request with at least one defect, and the problems that its defects may cause. */
export const badCases: fc.Arbitrary<Case> = fc.oneof(
  ...operations.map((operation) => ({
    weight: weightOf(operation),
    arbitrary: badCasesOf(operation),
  })),
)
