// Rows of plain, immutable values. Timestamps and durations are numbers of seconds; now is always
// 0.

export type Value =
  | null
  | boolean
  | number
  | string
  | readonly Value[]
  | { readonly [name: string]: Value }

export type Row = Readonly<Record<string, Value>>

/** The result of a query. */
export interface Relation {
  readonly columns: readonly string[]
  readonly rows: readonly Row[]
}

/** Equal values have equal texts. */
export const jsonOf = (value: unknown): string => JSON.stringify(value)

/** Decodes bytes, which are strings with the prefix `\x`. */
export const decodeBytes = (value: Value): unknown =>
  typeof value === 'string' && value.startsWith('\\x') ? Buffer.from(value.slice(2), 'hex') : value

/** Whether a value is a JSON object or a whole row. */
export function isObject(value: Value | undefined): value is { readonly [name: string]: Value } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A value as text: a string unchanged, anything else as JSON. */
export const toText = (value: Value | undefined): string =>
  typeof value === 'string' ? value : JSON.stringify(value ?? null)
