// Refuses a new payment or refund without a reference, for a tenant that requires one.
import { ProblemError } from '../../domain/problems/problem-error.ts'
import type { ApiParts } from '../endpoint.ts'

/** The problem of a request whose tenant requires a reference, if it has none: see `refusing`. */
export function findReferenceProblem(
  { requiresReference = false }: ApiParts,
  reference: string | null,
): ProblemError | undefined {
  if (!requiresReference || reference !== null) return undefined
  const errors = [{ pointer: '/reference', detail: 'Required' }]
  return new ProblemError('reference-required', { errors })
}
