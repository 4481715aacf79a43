// The committed rows and the work of an open transaction, of plain, immutable values, so that a state keeps
// its store. Timestamps and durations are numbers of seconds; now is always 0. And the errors of PostgreSQL
// that the product handles by code.
import postgres from 'postgres'

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

/** The committed rows of each table, sorted by primary key. */
export type Database = Readonly<Record<string, readonly Row[]>>

/**
 * From weak to strong, as PostgreSQL takes them for a referenced row, `for share`, an update and a
 * delete.
 */
export type LockMode = 'key share' | 'share' | 'no key update' | 'update'

export interface Change {
  readonly table: string
  readonly key: string
  /** Null: the row is deleted. */
  readonly row: Row | null
  /**
   * For a deleted row: what the same transaction had written before. Others wait for the end of the
   * transaction because of it.
   */
  readonly before?: Row
}

export interface Lock {
  readonly table: string
  readonly key: string
  readonly mode: LockMode
}

/** The uncommitted changes of a transaction, which other transactions do not see, and its locks. */
export interface Work {
  readonly changes: readonly Change[]
  readonly locks: readonly Lock[]
  /**
   * Changes of its statement that waits for a lock; the row is null for an existing row that it
   * changed. Other transactions wait for them, and the statement makes them again when it
   * continues.
   */
  readonly pending: readonly Change[]
}

export const NO_WORK: Work = { changes: [], locks: [], pending: [] }

/**
 * The last change of a row and the strongest lock count. `pending` belongs to the later statement.
 */
export function addWork(before: Work, more: Work): Work {
  const changes = new Map(before.changes.map((change) => [nameOf(change), change]))
  for (const change of more.changes) {
    const earlier = changes.get(nameOf(change))?.row ?? undefined
    const isWithdrawn = change.row === null && earlier !== undefined
    changes.set(nameOf(change), isWithdrawn ? { ...change, before: earlier } : change)
  }
  const locks = new Map(before.locks.map((lock) => [nameOf(lock), lock]))
  for (const lock of more.locks) {
    const held = locks.get(nameOf(lock))
    if (held === undefined || isStronger(lock.mode, held.mode)) locks.set(nameOf(lock), lock)
  }
  return { changes: sortByName(changes), locks: sortByName(locks), pending: more.pending }
}

const nameOf = ({ table, key }: { table: string; key: string }): string => `${table} ${key}`

function sortByName<Entry>(entries: ReadonlyMap<string, Entry>): Entry[] {
  const names = [...entries.keys()].toSorted()
  return names.map((name) => entries.get(name) as Entry)
}

const STRENGTH: Readonly<Record<LockMode, number>> = {
  'key share': 0,
  share: 1,
  'no key update': 2,
  update: 3,
}

const isStronger = (one: LockMode, other: LockMode): boolean => STRENGTH[one] > STRENGTH[other]

/**
 * Whether a lock in one mode excludes a lock in the other mode.
 * https://www.postgresql.org/docs/current/explicit-locking.html#LOCKING-ROWS
 */
export function isConflicting(one: LockMode, other: LockMode): boolean {
  const weaker = isStronger(one, other) ? other : one
  const stronger = weaker === one ? other : one
  if (weaker === 'key share') return stronger === 'update'
  return weaker !== 'share' || stronger !== 'share'
}

/** The rows of a table with the changes applied, sorted by primary key. */
export function rowsWith(
  rows: readonly Row[],
  keyOf: (row: Row) => string,
  changes: readonly Pick<Change, 'key' | 'row'>[],
): Row[] {
  if (changes.length === 0) return [...rows]
  const byKey = new Map<string, Row>(rows.map((row) => [keyOf(row), row]))
  for (const { key, row } of changes) {
    if (row === null) byKey.delete(key)
    else byKey.set(key, row)
  }
  return sortByName(byKey)
}

export const DIVISION_BY_ZERO = '22012'
export const NOT_NULL_VIOLATION = '23502'
export const FOREIGN_KEY_VIOLATION = '23503'
export const UNIQUE_VIOLATION = '23505'
export const CHECK_VIOLATION = '23514'
export const IN_FAILED_TRANSACTION = '25P02'
export const DEADLOCK_DETECTED = '40P01'

/**
 * As the driver throws it.
 *
 * @param constraint the name of the constraint or unique index that is violated.
 */
export function postgresError(code: string, message: string, constraint?: string): Error {
  const named = constraint === undefined ? {} : { constraint_name: constraint }
  const fields = { code, message, severity: 'ERROR', ...named }
  return Object.assign(new postgres.PostgresError(message as never), fields)
}

/** The violation of a constraint or unique index. */
export const violationOf = (code: string, constraint: string): Error =>
  postgresError(code, constraint, constraint)

/** The constraint or unique index that an error names. */
export const constraintOf = (error: Error): string | undefined =>
  error instanceof postgres.PostgresError ? error.constraint_name : undefined

/** An error of PostgreSQL, as a result. */
export interface ErrorResult {
  readonly kind: 'error'
  readonly code: string
  readonly message: string
  readonly constraint: string | undefined
}

/** @throws any other error. */
export function errorResultOf(error: unknown): ErrorResult {
  if (!(error instanceof postgres.PostgresError)) throw error
  const { code, message } = error
  return { kind: 'error', code, message, constraint: constraintOf(error) }
}

export const CONNECTION_LOST = 'the connection was lost'

/** The connection is lost, and whether the statement was executed is unknown. */
export function connectionLost(): Error {
  return Object.assign(new Error(CONNECTION_LOST), { code: 'CONNECTION_CLOSED' })
}

/** The statement waits until another session's transaction ends. */
export class Blocked extends Error {
  override name = 'Blocked'
  readonly blockedBy: number

  /** @param blockedBy index of that transaction among the other transactions. */
  constructor(blockedBy: number) {
    super('waits for a lock')
    this.blockedBy = blockedBy
  }
}
