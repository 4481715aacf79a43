// The operation that a path names, for the endpoints below /admin/operations/:id and the like.
import type { Request } from 'express'
import type { Sql, Transaction } from '../../db/connection/client.ts'
import {
  findOperationOverview,
  type OperationOverview,
} from '../../db/operators/operation-overviews.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { parseId } from '../../domain/resource-id.ts'

export const parseOperationId = (text: string): string | undefined => parseId('op', text)

/** The operation as the path names it, for the audit trail; null when what it names can be none. */
export function namedOperation({ params }: Request): string | null {
  const named = String(params['id'])
  return parseOperationId(named) === undefined ? null : named
}

/** @throws ProblemError resource-not-found. */
export async function findRequestedOperation(
  sql: Sql | Transaction,
  { params }: Request,
): Promise<OperationOverview> {
  const id = parseOperationId(String(params['id']))
  const operation = id === undefined ? undefined : await findOperationOverview(sql, id)
  if (operation === undefined) throw new ProblemError('resource-not-found')
  return operation
}
