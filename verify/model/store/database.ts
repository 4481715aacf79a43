// What is committed, and what an open transaction has added to it. Nothing of it is ever changed in place, so that
// every state stays as it was.
import type { Row } from './rows.ts'

/** The committed rows of each table, in the order of their keys. */
export type Database = Readonly<Record<string, readonly Row[]>>

/** From weak to strong, as PostgreSQL has them for a key that is pointed at, an update and a delete. */
export type LockMode = 'key share' | 'no key update' | 'update'

export interface Change {
  readonly table: string
  readonly key: string
  /** Null: it is deleted. */
  readonly row: Row | null
}

export interface Lock {
  readonly table: string
  readonly key: string
  readonly mode: LockMode
}

/** What a transaction has done and nobody else sees, and what it keeps others from. */
export interface Work {
  readonly changes: readonly Change[]
  readonly locks: readonly Lock[]
  /**
   * What its statement, which waits for a lock, has changed by then, null for a row that is there: it is for others to
   * wait for, and is done anew when the statement goes on.
   */
  readonly pending: readonly Change[]
}

export const NO_WORK: Work = { changes: [], locks: [], pending: [] }

/** Of several changes in one place the last counts; pending is what the later statement has pending. */
export function addWork(before: Work, more: Work): Work {
  const changes = new Map(
    [...before.changes, ...more.changes].map((change) => [nameOf(change), change]),
  )
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
  'no key update': 1,
  update: 2,
}

const isStronger = (one: LockMode, other: LockMode): boolean => STRENGTH[one] > STRENGTH[other]

/**
 * Whether one keeps another from being taken.
 * https://www.postgresql.org/docs/current/explicit-locking.html#LOCKING-ROWS
 */
export function isConflicting(one: LockMode, other: LockMode): boolean {
  const weaker = isStronger(one, other) ? other : one
  const stronger = weaker === one ? other : one
  return weaker === 'key share' ? stronger === 'update' : true
}

/** The rows of a table with changes, by their keys. */
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
