// The rows of a part of a statement: how they become parameters of the next part.
import type { Column } from 'postgres'

export interface Rows extends Array<Record<string, unknown>> {
  columns: readonly Pick<Column<string>, 'name' | 'type'>[]
  count: number
}

/** The types that our statements return, by their numbers. */
const TYPES: Readonly<Record<number, string>> = {
  16: 'bool',
  17: 'bytea',
  19: 'name',
  20: 'int8',
  21: 'int2',
  23: 'int4',
  25: 'text',
  114: 'json',
  700: 'float4',
  701: 'float8',
  1007: 'int4[]',
  1009: 'text[]',
  1016: 'int8[]',
  1022: 'float8[]',
  1042: 'bpchar',
  1043: 'text',
  1082: 'date',
  1184: 'timestamptz',
  1186: 'interval',
  1700: 'numeric',
  2278: 'text',
  2950: 'uuid',
  2951: 'uuid[]',
  3802: 'jsonb',
}
const JSON_TYPES = new Set(['json', 'jsonb'])

/** @throws Error for a type that no statement had when this was written. */
export function typeOf(oid: number): string {
  const type = TYPES[oid]
  if (type === undefined) throw new Error(`Type ${oid} cannot be passed to another part`)
  return type
}

/** A value of a row as a parameter of its type. */
export function asParameter(value: unknown, oid: number): unknown {
  if (value === null || value === undefined) return null
  return JSON_TYPES.has(typeOf(oid)) ? JSON.stringify(value) : value
}

/** The rows as one parameter, for `recordset`. */
export function asJson(rows: Rows): string {
  return JSON.stringify(rows, (_, value: unknown) => (isBytes(value) ? hexOf(value) : value))
}

/** Node calls `toJSON` of a buffer before the replacer sees it. */
const isBytes = (value: unknown): value is { data: readonly number[] } =>
  typeof value === 'object' &&
  value !== null &&
  'type' in value &&
  'data' in value &&
  value.type === 'Buffer'

const hexOf = ({ data }: { data: readonly number[] }): string =>
  `\\x${Buffer.from(data).toString('hex')}`

/** The common table expression with the rows of a parameter. */
export function recordset(name: string, { columns }: Rows, parameter: number): string {
  const definitions = columns.map((column) => `${quoted(column.name)} ${typeOf(column.type)}`)
  const rows =
    columns.length === 0
      ? `select 1 from jsonb_array_elements($${parameter}::jsonb)`
      : `select * from jsonb_to_recordset($${parameter}::jsonb) as row (${definitions.join(', ')})`
  return `${quoted(name)} as materialized (${rows})`
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

/** The rows of several executions of one statement. */
export function concat(results: readonly Rows[], columns: Rows['columns']): Rows {
  return asRows(
    results.flatMap((result) => [...result]),
    columns,
    results.reduce((sum, result) => sum + result.count, 0),
  )
}

/** As the driver does it: only the rows are enumerable. */
function asRows(rows: Record<string, unknown>[], columns: Rows['columns'], count: number): Rows {
  return Object.defineProperties(rows as Rows, {
    columns: { value: columns },
    count: { value: count },
  })
}

/** The same rows, with names for the first columns. */
export function renamed(rows: Rows, names: readonly string[]): Rows {
  if (names.length === 0) return rows
  return project(
    rows,
    rows.columns.map(({ name }, index) => [name, names[index] ?? name]),
  )
}

/** Some columns of the rows, each by its name and with a new one. */
export function project(rows: Rows, names: readonly (readonly [string, string])[]): Rows {
  const types = new Map(rows.columns.map(({ name, type }) => [name, type]))
  return asRows(
    rows.map((row) => Object.fromEntries(names.map(([from, to]) => [to, row[from]]))),
    names.map(([from, name]) => ({ name, type: types.get(from) ?? 0 })),
    rows.count,
  )
}
