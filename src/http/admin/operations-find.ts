// Finds the operation that the path of an admin endpoint names.
import type { Request } from 'express'
import type { Sql, Transaction } from '../../db/connection/client.ts'
import {
  findOperationOverview,
  type OperationOverview,
} from '../../db/operators/operation-overviews.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { parseId } from '../../domain/resource-id.ts'

export const parseOperationId = (text: string): string | undefined => parseId('op', text)

/** Returns the id in the path, for the audit trail; null when it is not an id of an operation. */
export function namedOperation({ params }: Request): string | null {
  const text = String(params['id'])
  return parseOperationId(text) === undefined ? null : text
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
