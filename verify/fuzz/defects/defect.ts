// A defect is a change that makes a good request invalid. It stays invalid in combination with any
// other defects.
import type * as fc from 'fast-check'
import type { ProblemType } from '../../../src/domain/problems/problems.ts'
import type { Operation } from '../operations.ts'

/** The parts of a request under construction. Defects change them one after the other. */
export interface Parts {
  readonly method: string
  readonly path: string
  readonly query: readonly string[]
  /** Values by lower-case name. Several values become several header lines. */
  readonly headers: Readonly<Record<string, readonly string[]>>
  /** One character per byte. */
  readonly body: string | undefined
}

export interface DefectChange {
  readonly change: (parts: Parts) => Parts
  /** The problems that the service may report for this defect. */
  readonly types: readonly ProblemType[]
}

export interface Defect {
  readonly kind: string
  /** Draws the defect for an operation. Undefined if the operation cannot have it. */
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

/** Sets a header. Without values, removes it. */
export function withHeader(name: string, values: readonly string[]): (parts: Parts) => Parts {
  return (parts) => ({ ...parts, headers: { ...parts.headers, [name]: values } })
}
