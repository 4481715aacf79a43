// Locks and changes the rows of one statement, and checks the constraints.
import { evaluate, type EvaluationContext, holds } from '../sql/evaluate.ts'
import { isSame } from '../sql/compare.ts'
import { type Binding, Scope } from '../sql/scope.ts'
import type { Delete, Insert, Statement, Update } from '../sql/syntax.ts'
import type { Change, Database, Lock, LockMode, Relation, Row, Value, Work } from './rows.ts'
import {
  Blocked,
  CHECK_VIOLATION,
  FOREIGN_KEY_VIOLATION,
  isConflicting,
  jsonOf,
  NOT_NULL_VIOLATION,
  postgresError,
  rowsWith,
  UNIQUE_VIOLATION,
  violationOf,
} from './rows.ts'
import type { Schema, Table, Unique } from './schema.ts'
import { keyOfRow, referredKey, tableNamed } from './schema.ts'

/** The data that a statement works on. */
export interface View {
  /** Committed when the statement began. */
  readonly snapshot: Database
  /** Committed now. */
  readonly current: Database
  /** The work of its own transaction. */
  readonly own: Work
  /** The work of the other open transactions. */
  readonly others: readonly Work[]
  /** The rows of an insert that found a conflict before it waited: it does not look at them again. */
  readonly passed?: readonly number[]
}

/** The changed rows, each with the rows that it was joined with. */
export interface ChangedRows {
  readonly scopes: readonly Scope[]
  readonly target: Omit<Binding, 'row'>
}

export class RowChanges {
  readonly #schema: Schema
  readonly #view: View
  readonly #context: EvaluationContext
  readonly #changes: Change[] = []
  readonly #locks: Lock[] = []
  readonly #visible = new Map<string, Relation>()
  readonly #referring: { readonly table: Table; readonly row: Row }[] = []
  /** The positions of the rows of an insert that found a conflict. */
  readonly passed: number[]

  constructor(schema: Schema, view: View, context: EvaluationContext) {
    this.passed = [...(view.passed ?? [])]
    this.#schema = schema
    this.#view = view
    this.#context = context
  }

  get work(): Work {
    return { changes: this.#changes, locks: this.#locks, pending: [] }
  }

  /**
   * The work of a statement that must wait before it is done. An update or delete locks and then
   * changes one row after the other, so it has changed every row that it has locked so far.
   */
  workWhileWaiting(body: Statement['body']): Work {
    const changed = 'table' in body ? body.table : undefined
    const locked = this.#locks
      .filter(({ table }) => table === changed)
      .map(({ table, key }) => ({ table, key, row: null }))
    return { changes: [], locks: this.#locks, pending: [...locked, ...this.#changes] }
  }

  /**
   * A table in the statement's snapshot, with the earlier changes of its transaction. A statement
   * does not see its own changes.
   */
  visible(name: string): Relation {
    const existing = this.#visible.get(name)
    if (existing !== undefined) return existing
    const table = this.#table(name)
    const columns = table.columns.map((column) => column.name)
    const rows = this.#rows(table, this.#view.snapshot, this.#view.own.changes)
    const relation = { columns, rows }
    this.#visible.set(name, relation)
    return relation
  }

  typesOf(name: string, columns: readonly string[]): (string | undefined)[] {
    const table = this.#table(name)
    return columns.map((own) => table.columns.find((column) => column.name === own)?.type)
  }

  #table(name: string): Table {
    return tableNamed(this.#schema, name)
  }

  #rows(table: Table, database: Database, changes: readonly Change[]): Row[] {
    const own = changes.filter((change) => change.table === table.name)
    return rowsWith(database[table.name] ?? [], (row) => keyOfRow(table, row), own)
  }

  /** The current rows, with the changes of this transaction and of this statement. */
  #newest(table: Table): Row[] {
    const changes = [...this.#view.own.changes, ...this.#changes]
    return this.#rows(table, this.#view.current, changes)
  }

  /**
   * Locks a row and returns its newest version: the same object if it has not changed since the
   * statement began, undefined if it was deleted.
   *
   * @throws Blocked when another transaction has locked it.
   */
  lock(name: string, row: Row, mode: LockMode): Row | undefined {
    const table = this.#table(name)
    const key = keyOfRow(table, row)
    this.#acquire({ table: name, key, mode })
    const newest = this.#newest(table).find((candidate) => keyOfRow(table, candidate) === key)
    // There is nothing to lock any more.
    if (newest === undefined) this.#locks.pop()
    return newest !== undefined && jsonOf(newest) === jsonOf(row) ? row : newest
  }

  #acquire(lock: Lock): void {
    for (const [place, { locks }] of this.#view.others.entries()) {
      const isLocked = locks.some(
        (held) =>
          held.table === lock.table && held.key === lock.key && isConflicting(held.mode, lock.mode),
      )
      if (isLocked) throw new Blocked(place)
    }
    this.#locks.push(lock)
  }

  updateOrDelete(body: Update | Delete, candidates: readonly Scope[]): ChangedRows {
    const table = this.#table(body.table)
    const mode = body.kind === 'delete' ? 'update' : 'no key update'
    const done = new Set<string>()
    const scopes: Scope[] = []
    for (const candidate of candidates) {
      const row = candidate.bindings[0]?.row
      if (row === null || row === undefined) continue
      const key = keyOfRow(table, row)
      if (done.has(key)) continue
      // PostgreSQL checks the constraints on the new row before it waits for the lock.
      if (body.kind === 'update') this.#check(table, this.#assign(body, candidate, row))
      const newest = this.lock(table.name, row, mode)
      // A row that was deleted meanwhile is skipped; the condition is evaluated again on one that
      // changed.
      if (newest === undefined) continue
      const scope = candidate.replacing(body.as, newest)
      if (newest !== row && !holds(body.where, scope, this.#context)) continue
      done.add(key)
      const changed = body.kind === 'delete' ? null : this.#update(table, body, scope, newest)
      this.#changes.push({ table: table.name, key, row: changed })
      scopes.push(changed === null ? scope : scope.replacing(body.as, changed))
    }
    return { scopes, target: { as: body.as, columns: namesOf(table) } }
  }

  #update(table: Table, { set }: Pick<Update, 'set'>, scope: Scope, row: Row): Row {
    const changed = this.#assign({ set }, scope, row)
    this.#check(table, changed)
    if (this.#isFromOwnTransaction(table, row)) this.#referring.push({ table, row: changed })
    for (const unique of table.uniques) {
      const isEntered = this.#isEntered(table, unique, row, changed)
      const conflicting = isEntered ? this.#conflictingRow(table, unique, changed, row) : undefined
      if (conflicting !== undefined) throw violationOf(UNIQUE_VIOLATION, unique.name)
    }
    return changed
  }

  /** Whether a changed row is in a unique index under other values, or was not in it before. */
  #isEntered(table: Table, { columns, where }: Unique, row: Row, changed: Row): boolean {
    const isMoved = columns.some((column) => !isSame(row[column] ?? null, changed[column] ?? null))
    return isMoved || (where !== undefined && !this.#isIn(table, where, row))
  }

  /** Whether the row meets the condition of an index. */
  #isIn(table: Table, where: Unique['where'], row: Row): boolean {
    return holds(where, new Scope([bindingOf(table, row)]), this.#context)
  }

  #isFromOwnTransaction(table: Table, row: Row): boolean {
    const key = keyOfRow(table, row)
    return this.#view.own.changes.some(
      (change) => change.table === table.name && change.key === key,
    )
  }

  #assign({ set }: Pick<Update, 'set'>, scope: Scope, row: Row): Row {
    const changed: Record<string, Value> = { ...row }
    for (const { column, to } of set) changed[column] = evaluate(to, scope, this.#context)
    return changed
  }

  insert(body: Insert, { columns, rows }: Relation): ChangedRows {
    const table = this.#table(body.into)
    const scopes = rows.flatMap((values, position) => {
      if (this.passed.includes(position)) return []
      const provided = body.columns.map((name, index) => [
        name,
        values[columns[index] ?? ''] ?? null,
      ])
      const row = this.#withDefaults(table, Object.fromEntries(provided) as Row)
      const added = this.#insertOne(table, body, row)
      if (added === undefined) {
        this.passed.push(position)
        return []
      }
      return [new Scope([{ as: table.name, columns: namesOf(table), row: added }])]
    })
    return { scopes, target: { as: table.name, columns: namesOf(table) } }
  }

  #withDefaults(table: Table, given: Row): Row {
    const row = table.columns.map(({ name, byDefault }) => {
      if (Object.hasOwn(given, name)) return [name, given[name]]
      const value = byDefault && evaluate(byDefault, new Scope([]), this.#context)
      return [name, value ?? null]
    })
    return Object.fromEntries(row) as Row
  }

  #insertOne(table: Table, body: Insert, row: Row): Row | undefined {
    const { primaryKeyName: name, primaryKey: columns } = table
    const uniques = [{ name, columns, where: undefined }, ...table.uniques]
    for (const arbiter of uniques.filter((each) => isArbiter(body, each))) {
      const existing = this.#conflictingRow(table, arbiter, row)
      if (existing !== undefined) return this.#resolveConflict(table, body, row, existing)
    }
    for (const unique of uniques) {
      if (this.#conflictingRow(table, unique, row) !== undefined) {
        throw violationOf(UNIQUE_VIOLATION, unique.name)
      }
    }
    this.#check(table, row)
    const key = keyOfRow(table, row)
    this.#changes.push({ table: table.name, key, row })
    this.#referring.push({ table, row })
    return row
  }

  /** `on conflict` for a row that already exists. */
  #resolveConflict(
    table: Table,
    { conflict }: Insert,
    row: Row,
    conflicting: Row,
  ): Row | undefined {
    if (conflict?.set === undefined) return undefined
    const newest = this.lock(table.name, conflicting, 'no key update')
    if (newest === undefined) return undefined
    const columns = namesOf(table)
    const scope = new Scope([
      { as: table.name, columns, row: newest },
      { as: 'excluded', columns, row },
    ])
    if (!holds(conflict.where, scope, this.#context)) return undefined
    const changed = this.#update(table, { set: conflict.set }, scope, newest)
    this.#changes.push({ table: table.name, key: keyOfRow(table, newest), row: changed })
    return changed
  }

  /**
   * The current row that a unique constraint conflicts with.
   *
   * @param own the row itself, if it already exists.
   * @throws Blocked when the conflict depends on a transaction that has not ended.
   */
  #conflictingRow(table: Table, unique: Unique, row: Row, own?: Row): Row | undefined {
    const ownKey = own && keyOfRow(table, own)
    const isConflict = (other: Row) =>
      keyOfRow(table, other) !== ownKey && this.#collides(table, unique, row, other)
    const conflicting = this.#newest(table).find(isConflict)
    const conflictingKey = conflicting && keyOfRow(table, conflicting)
    for (const [place, { changes, pending }] of this.#view.others.entries()) {
      for (const change of [...changes, ...pending]) {
        if (change.table !== table.name) continue
        const written = change.row ?? change.before
        const isInserting =
          written !== undefined && change.key !== conflictingKey && isConflict(written)
        // The statement waits for the other transaction, whether it updated or deleted that row.
        const isChanging = change.key === conflictingKey
        if (isInserting || isChanging) throw new Blocked(place)
      }
    }
    return conflicting
  }

  #collides(table: Table, { columns, where }: Unique, row: Row, other: Row): boolean {
    const isEqual = columns.every((column) => {
      const value = row[column] ?? null
      return value !== null && isSame(value, other[column] ?? null)
    })
    if (!isEqual) return false
    return [row, other].every((each) => this.#isIn(table, where, each))
  }

  #check(table: Table, row: Row): void {
    for (const { name, notNull } of table.columns) {
      if (notNull && (row[name] ?? null) === null) {
        throw postgresError(NOT_NULL_VIOLATION, `${table.name}.${name}`)
      }
    }
    const scope = new Scope([bindingOf(table, row)])
    for (const { name, condition } of table.checks) {
      if (evaluate(condition, scope, this.#context) === false) {
        throw violationOf(CHECK_VIOLATION, name)
      }
    }
  }

  /**
   * Inserted rows must refer to existing rows, and lock these against deletion. PostgreSQL checks
   * this at the end of the statement, and once more when a transaction updates a row that it has
   * written itself, even if the reference stays (RI_FKey_fk_upd_check_required in its source).
   */
  checkReferences(): void {
    for (const { table, row } of this.#referring) {
      for (const reference of table.references) {
        const { name, table: target, isDeferred } = reference
        const key = referredKey(reference, row)
        if (isDeferred || key === undefined) continue
        const parent = this.#table(target)
        const exists = this.#newest(parent).some((other) => keyOfRow(parent, other) === key)
        if (!exists) throw violationOf(FOREIGN_KEY_VIOLATION, name)
        this.#acquire({ table: target, key, mode: 'key share' })
      }
    }
  }
}

/** Whether a conflict in this index is handled by `on conflict`. */
const isArbiter = ({ conflict }: Insert, { columns }: Unique): boolean =>
  conflict !== undefined && (conflict.columns ?? columns).join() === columns.join()

const namesOf = ({ columns }: Table): string[] => columns.map(({ name }) => name)

const bindingOf = (table: Table, row: Row): Binding => ({
  as: table.name,
  columns: namesOf(table),
  row,
})
