// Defines the committed rows and the work of an open transaction. All of it is immutable, so that a
// state keeps its store.
import type { Row } from './rows.ts'

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
