// What a table holds: rows of plain values, which nobody changes once they are made. Moments and spans of
// time are numbers of seconds, and it is always now at 0.

export type Value =
  | null
  | boolean
  | number
  | string
  | readonly Value[]
  | { readonly [name: string]: Value }

export type Row = Readonly<Record<string, Value>>

/** What a query comes to. */
export interface Relation {
  readonly columns: readonly string[]
  readonly rows: readonly Row[]
}

/** The text by which two values are the same. */
export const jsonOf = (value: unknown): string => JSON.stringify(value)

/** Bytes as such, which are told from text by how they begin. */
export const decodeBytes = (value: Value): unknown =>
  typeof value === 'string' && value.startsWith('\\x') ? Buffer.from(value.slice(2), 'hex') : value

/** Whether a value is an object of JSON, or a row as a whole. */
export function isObject(value: Value | undefined): value is { readonly [name: string]: Value } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A value as text: a text as it is, anything else as JSON. */
export const toText = (value: Value | undefined): string =>
  typeof value === 'string' ? value : JSON.stringify(value ?? null)
