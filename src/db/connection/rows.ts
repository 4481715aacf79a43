// Rows and objects: `tenant_id` of a row is `tenantId` of an object, and a timestamp, which is text in a row,
// is a date. And the ids of rows: UUIDv7, so that a primary key finds the rows of a time.
import type { Fragment, Transaction, Sql } from './client.ts'
import { together } from './transaction.ts'
import type { PgTable } from 'drizzle-orm/pg-core'

/** The object of a row, or of a part of one. */
export type ObjectOf<Row> = {
  readonly [Name in keyof Row as MemberOf<Name>]: Name extends TimestampName
    ? Date | Exclude<Row[Name], string>
    : Row[Name]
}

type MemberOf<Name> = Name extends `${infer First}_${infer Others}`
  ? `${First}${Capitalize<MemberOf<Others> & string>}`
  : Name

type TimestampName = `${string}_${'at' | 'before' | 'since' | 'until'}` | 'from' | 'to'

const TIMESTAMP = /_(?:at|before|since|until)$|^(?:from|to)$/

export function objectOf<Row extends object>(row: Row): ObjectOf<Row> {
  const object: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(row) as [string, unknown][]) {
    const isTimestamp = TIMESTAMP.test(name) && (value ?? null) !== null
    object[memberOf(name)] = isTimestamp ? new Date(value as string) : value
  }
  return object as ObjectOf<Row>
}

/** The objects of rows whose select list has what an item has. */
export const objectsOf = <Item>(rows: readonly object[]): Item[] => rows.map(objectOf) as Item[]

const members = new Map<string, string>()
const columns = new Map<string, string>()

/** The member of an object that has the value of a column. */
export const memberOf = (column: string): string =>
  members.get(column) ??
  remember(
    members,
    column,
    column.replaceAll(/_[a-z]/g, (text) => text.slice(1).toUpperCase()),
  )

export const columnOf = (member: string): string =>
  columns.get(member) ??
  remember(
    columns,
    member,
    member.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  )

function remember(names: Map<string, string>, name: string, other: string): string {
  names.set(name, other)
  return other
}

/**
 * A row by the names of its columns, or of its members. A value may be an object, for a `jsonb` column, or
 * an expression.
 */
export type NewRow = Readonly<Record<string, unknown>>

/**
 * A part of an insert. Columns that the rows do not name get their default.
 *
 * @param rows at least one. All have the same columns, named by this program.
 */
export function rowsOf(tx: Transaction, rows: readonly NewRow[]): Fragment {
  return tx(rows.map(withParameters) as never)
}

/** A part of an update: the columns that the row names. */
export function valuesOf(tx: Transaction, row: NewRow): Fragment {
  return tx(withParameters(row) as never)
}

function withParameters(row: NewRow): Record<string, unknown> {
  const entries = Object.entries(row).map(([name, value]) => [columnOf(name), parameterOf(value)])
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
export function ofEachTenant<Row extends { readonly tenantId: string }>(
  rows: readonly Row[],
): [tenantId: string, rows: Row[]][] {
  const ofTenants = [...Map.groupBy(rows, ({ tenantId }) => tenantId)]
  return ofTenants.toSorted(([one], [other]) => (one < other ? -1 : 1))
}

/** Runs statements about the rows of each tenant, which leave together. */
export function forEachTenant<Row extends { readonly tenantId: string }, Result>(
  rows: readonly Row[],
  run: (tenantId: string, rows: readonly Row[]) => Promise<Result>,
): Promise<Result[]> {
  return together(ofEachTenant(rows).map(([tenantId, own]) => run(tenantId, own)))
}

/** The format of `bytea` in JSON. */
export const asBytea = (bytes: Buffer): string => `\\x${bytes.toString('hex')}`

/** What `select *` returns for a row. The JSON of a row differs from it only in `bytea`. */
export type RowOf<
  Table extends PgTable,
  Columns extends PgTable['_']['columns'] = Table['_']['columns'],
> = {
  readonly [Member in keyof Columns as Columns[Member]['_']['name']]:
    | (Columns[Member]['_']['data'] extends Date ? string : Columns[Member]['_']['data'])
    | (Columns[Member]['_']['notNull'] extends true ? never : null)
}

/**
 * The lists that show an entry only when no earlier one can still appear. Their new rows get their ids
 * from `nextId`.
 */
type OrderedList = 'events' | 'ledger' | 'admin_actions'

/** The tenant of a list that belongs to no tenant. */
export const NO_TENANT = '00000000-0000-0000-0000-000000000000'

/**
 * An expression: the id of a new row of a list. The row has to be inserted in this transaction: until it
 * ends, readers wait for it. See drizzle/0000_schema.sql.
 */
export const nextId = (sql: Sql | Transaction, list: OrderedList, tenantId: Fragment): Fragment =>
  sql`next_id(${list}::text, ${tenantId})`

/** The lower bound of all UUIDv7 of that time, in milliseconds since 1970. */
export function firstIdAt(ms: number): string {
  const time = Math.max(0, ms).toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`
}
