// What a defect is: a change of a good request after which it is a bad one for a certainty, whatever else is
// changed before it or after it by another.
import type * as fc from 'fast-check'
import type { ProblemType } from '../../../src/domain/problems/problems.ts'
import type { Operation } from '../operations.ts'

/** A request that is being made: its parts as they are changed one by one. */
export interface Parts {
  readonly method: string
  readonly path: string
  readonly query: readonly string[]
  /** By names in lower case; several values are several lines. */
  readonly headers: Readonly<Record<string, readonly string[]>>
  /** A character for each byte. */
  readonly body: string | undefined
}

export interface DefectChange {
  readonly change: (parts: Parts) => Parts
  /** The problems of which one is told, if it is this defect that is told of. */
  readonly types: readonly ProblemType[]
}

export interface Defect {
  readonly kind: string
  /** How it is made; undefined for an operation that cannot have it. */
  readonly forOperation: (operation: Operation) => fc.Arbitrary<DefectChange> | undefined
}

export function defectChange(
  types: readonly ProblemType[],
  change: (parts: Parts) => Parts,
): DefectChange {
  return { types, change }
}

export function withBody(body: string): (parts: Parts) => Parts {
  return (parts) => ({ ...parts, body })
}

/** No values leave the header out. */
export function withHeader(name: string, values: readonly string[]): (parts: Parts) => Parts {
  return (parts) => ({ ...parts, headers: { ...parts.headers, [name]: values } })
}
