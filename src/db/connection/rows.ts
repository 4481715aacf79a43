// Builds the rows of an insert: the columns that the rows name, and their values.
import type { Fragment, Transaction } from './client.ts'

/** A row by the names of its columns. A value may be an object, for a `jsonb` column, or an expression. */
export type NewRow = Readonly<Record<string, unknown>>

/**
 * A part of an insert. Columns that the rows do not name get their default.
 *
 * @param rows at least one. All have the same columns, named by this program.
 */
export function rowsOf(tx: Transaction, rows: readonly NewRow[]): Fragment {
  return tx(rows.map(withParameters) as never)
}

function withParameters(row: NewRow): Record<string, unknown> {
  const entries = Object.entries(row).map(([column, value]) => [column, parameterOf(value)])
  return Object.fromEntries(entries) as Record<string, unknown>
}

function parameterOf(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString()
  if (isFragment(value)) return value
  const isJson = typeof value === 'object' && value !== null && !Buffer.isBuffer(value)
  return isJson ? JSON.stringify(value) : (value ?? null)
}

const isFragment = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'then' in value

/** The rows of each tenant, in one order for all processes, so that their changes do not deadlock. */
export function ofEachTenant<Row>(
  rows: readonly Row[],
  tenantOf: (row: Row) => string,
): [tenantId: string, rows: Row[]][] {
  const ofTenants = [...Map.groupBy(rows, tenantOf)]
  return ofTenants.toSorted(([one], [other]) => (one < other ? -1 : 1))
}

/** The format of `bytea` in JSON. */
export const asBytea = (bytes: Buffer): string => `\\x${bytes.toString('hex')}`
