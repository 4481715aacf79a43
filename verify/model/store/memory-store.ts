// The in-memory store: executes the product's own SQL on the committed rows, concurrently with
// other transactions.
import { evaluate, type EvaluationContext, groupOf, holds, isAggregate } from '../sql/evaluate.ts'
import { cast } from '../sql/functions.ts'
import { type Binding, Scope } from '../sql/scope.ts'
import type {
  ColumnDefinition,
  Insert,
  Item,
  Query,
  Select,
  Source,
  Statement,
} from '../sql/syntax.ts'
import { UnknownSqlError } from '../sql/syntax.ts'
import { parseStatement } from '../sql/parse-statement.ts'
import { type ChangedRows, RowChanges, type View } from './row-changes.ts'
import type { Database, ErrorResult, Relation, Row, Value, Work } from './rows.ts'
import {
  Blocked,
  errorResultOf,
  FOREIGN_KEY_VIOLATION,
  isObject,
  rowsWith,
  violationOf,
} from './rows.ts'
import { keyOfRow, type Reference, referredKey, type Schema, tableNamed } from './schema.ts'

/** The rows of a statement, and how many rows it returned or, without `returning`, changed. */
interface Result {
  readonly rows: readonly Row[]
  readonly count: number
}

interface Cte {
  readonly query: Query
  relation: Relation | undefined
}

class Execution implements EvaluationContext {
  readonly parameters: readonly Value[]
  readonly makeUuid: () => string
  readonly changes: RowChanges
  readonly #ctes = new Map<string, Cte>()

  constructor(schema: Schema, view: View, parameters: readonly Value[], makeUuid: () => string) {
    this.parameters = parameters
    this.makeUuid = makeUuid
    this.changes = new RowChanges(schema, view, this)
  }

  /**
   * @throws Blocked when it must wait; `changes` has the locks that it took before. PostgresError
   *   as PostgreSQL does.
   */
  run({ ctes, body }: Statement): Result {
    this.#define(ctes)
    const outer = new Scope([])
    if (body.kind === 'select') {
      const { rows } = this.#select(body, outer)
      return { rows, count: rows.length }
    }
    const result = this.#change(body, outer)
    this.changes.checkReferences()
    return result
  }

  select({ ctes, body }: Query, around: Scope): Relation {
    this.#define(ctes)
    return this.#select(body, around)
  }

  #define(ctes: Query['ctes']): void {
    for (const { name, query } of ctes) this.#ctes.set(name, { query, relation: undefined })
  }

  #relationOf(name: string): Relation {
    const cte = this.#ctes.get(name)
    if (cte === undefined) return this.changes.visible(name)
    cte.relation ??= this.select(cte.query, new Scope([]))
    return cte.relation
  }

  #select(select: Select, around: Scope): Relation {
    const { scopes: joined, shape } = this.#join(select.from, [new Scope([], around)])
    const matching = joined.filter((scope) => holds(select.where, scope, this))
    const ordered = this.#order(select, this.#group(select, matching, around))
    const scopes = this.#limit(select, this.#lock(select, ordered))
    return this.#project(select.items, scopes, shape)
  }

  /** PostgreSQL locks the rows in their order. */
  #lock({ locks, from: [source], where }: Select, scopes: Scope[]): Scope[] {
    if (locks === undefined) return scopes
    if (source?.from.kind !== 'table') throw new UnknownSqlError('only rows can be locked')
    const { as, from } = source
    return scopes.flatMap((scope) => {
      const row = scope.bindingOf(as)?.row ?? undefined
      const newest = row && this.changes.lock(from.name, row, locks)
      if (newest === undefined) return []
      const rechecked = scope.replacing(as, newest)
      return newest === row || holds(where, rechecked, this) ? [rechecked] : []
    })
  }

  #group({ items, groupBy }: Select, scopes: Scope[], around: Scope): Scope[] {
    const hasAggregate = items.some(
      (item) => item.star === undefined && isAggregate(item.expression),
    )
    if (groupBy.length === 0 && !hasAggregate) return scopes
    if (groupBy.length === 0) {
      return [new Scope(scopes[0]?.bindings ?? [], around, scopes)]
    }
    const groups = Map.groupBy(scopes, (scope) => groupOf(groupBy, scope, this))
    return [...groups.values()].map((group) => new Scope(group[0]?.bindings ?? [], around, group))
  }

  #order({ orderBy }: Select, scopes: Scope[]): Scope[] {
    if (orderBy.length === 0) return scopes
    const keyed = scopes.map((scope) => ({
      scope,
      keys: orderBy.map(({ by }) => evaluate(by, scope, this)),
    }))
    keyed.sort((one, other) => {
      for (const [index, { descending }] of orderBy.entries()) {
        const [first, second] = [one.keys[index] ?? null, other.keys[index] ?? null]
        const order = compareForSort(first, second)
        if (order !== 0) return descending ? -order : order
      }
      return 0
    })
    return keyed.map(({ scope }) => scope)
  }

  #limit({ limit }: Select, scopes: Scope[]): Scope[] {
    return limit === undefined
      ? scopes
      : scopes.slice(0, Number(evaluate(limit, new Scope([]), this)))
  }

  #join(
    sources: readonly Source[],
    begin: readonly Scope[],
  ): { scopes: Scope[]; shape: Omit<Binding, 'row'>[] } {
    let scopes = [...begin]
    const shape: Omit<Binding, 'row'>[] = []
    for (const source of sources) {
      let columns: readonly string[] = []
      const joined: Scope[] = []
      for (const scope of scopes) {
        const relation = this.#source(source, scope)
        ;({ columns } = relation)
        joined.push(...this.#joinEach(source, scope, relation))
      }
      if (scopes.length === 0) columns = this.#columnsOf(source)
      shape.push({ as: source.as, columns })
      scopes = joined
    }
    return { scopes, shape }
  }

  #joinEach({ as, join, on }: Source, scope: Scope, { columns, rows }: Relation): Scope[] {
    const joined = rows
      .map((row) => scope.with({ as, columns, row }))
      .filter((candidate) => holds(on, candidate, this))
    if (joined.length > 0 || join !== 'left') return joined
    return [scope.with({ as, columns, row: null })]
  }

  #source({ from, as, columns }: Source, scope: Scope): Relation {
    if (from.kind === 'table') return this.#relationOf(from.name)
    if (from.kind === 'query') return this.select(from.query, scope)
    const values = from.parts.map((part) => evaluate(part, scope, this))
    const names = (columns ?? []).map(({ name }) => name)
    if (from.name === 'unnest') return unnest(values, names.length === 0 ? [as] : names)
    if (from.name === 'jsonb_to_recordset') return recordset(values[0] ?? null, columns ?? [])
    throw new UnknownSqlError(`unknown function ${from.name} in from`)
  }

  /** For a source that no row was joined with. */
  #columnsOf({ from, columns = [] }: Source): readonly string[] {
    if (from.kind === 'table') return this.#relationOf(from.name).columns
    if (from.kind === 'call') return columns.map(({ name }) => name)
    return from.query.body.items.flatMap((item) => (item.star === undefined ? [item.as] : []))
  }

  #project(
    items: readonly Item[],
    scopes: readonly Scope[],
    shape: readonly Omit<Binding, 'row'>[],
  ): Relation {
    const starBindings = (of: string | undefined) =>
      shape.filter(({ as }) => of === undefined || as === of)
    const columns = items.flatMap((item) =>
      item.star === undefined
        ? [item.as]
        : starBindings(item.of).flatMap((binding) => binding.columns),
    )
    const rows = scopes.map((scope) => {
      const row: Record<string, Value> = {}
      for (const item of items) {
        if (item.star === undefined) row[item.as] = evaluate(item.expression, scope, this)
        else for (const binding of starBindings(item.of)) Object.assign(row, rowOf(scope, binding))
      }
      return row
    })
    return { columns, rows }
  }

  #change(body: Exclude<Statement['body'], Select>, around: Scope): Result {
    const touched = this.#touch(body, around)
    const shape = [touched.target, ...touched.shape]
    const { rows } = this.#project(body.returning ?? [], touched.scopes, shape)
    // Without `returning` there are no rows, only a count.
    return { rows: body.returning === undefined ? [] : rows, count: touched.scopes.length }
  }

  #rowsToInsert({ into, columns, rows }: Insert, around: Scope): Relation {
    if ('kind' in rows) return this.#select(rows, around)
    const types = this.changes.typesOf(into, columns)
    const typed = rows.map((row) =>
      row.map((part, position) => cast(evaluate(part, around, this), types[position] ?? 'text')),
    )
    return { columns: columns.map((_, position) => String(position)), rows: typed.map(positional) }
  }

  #touch(
    body: Exclude<Statement['body'], Select>,
    around: Scope,
  ): ChangedRows & { readonly shape: readonly Omit<Binding, 'row'>[] } {
    if (body.kind === 'insert') {
      return { ...this.changes.insert(body, this.#rowsToInsert(body, around)), shape: [] }
    }
    // Joins the other sources first, so that rows are locked in their order.
    const { scopes, shape } = this.#join(body.from, [new Scope([], around)])
    const { columns, rows } = this.changes.visible(body.table)
    const candidates = scopes.flatMap((scope) =>
      rows.map((row) => new Scope([{ as: body.as, columns, row }, ...scope.bindings], around)),
    )
    const matching = candidates.filter((scope) => holds(body.where, scope, this))
    return { ...this.changes.updateOrDelete(body, matching), shape }
  }
}

/** As PostgreSQL sorts: nulls last. */
function compareForSort(one: Value, other: Value): number {
  if (one === other) return 0
  if (one === null) return 1
  if (other === null) return -1
  return one < other ? -1 : 1
}

/** The values of a row by the positions of its columns. */
const positional = (values: readonly Value[]): Row =>
  Object.fromEntries(values.map((value, position) => [String(position), value]))

function unnest(arrays: readonly Value[], columns: readonly string[]): Relation {
  const names = arrays.map((_, index) => columns[index] ?? `unnest_${index}`)
  const lists = arrays.map((array) => (Array.isArray(array) ? (array as Value[]) : []))
  const length = Math.max(0, ...lists.map((list) => list.length))
  const rows = Array.from({ length }, (_, at) =>
    Object.fromEntries(names.map((name, index) => [name, lists[index]?.[at] ?? null])),
  )
  return { columns: names, rows }
}

function recordset(array: Value, columns: readonly ColumnDefinition[]): Relation {
  const records = Array.isArray(array) ? (array as Value[]) : []
  const rows = records.map((record) => {
    const values = isObject(record) ? record : {}
    return Object.fromEntries(
      columns.map(({ name, type = 'text' }) => {
        const value = values[name] ?? null
        return [name, type === 'jsonb' ? value : cast(value, type)]
      }),
    )
  })
  return { columns: columns.map(({ name }) => name), rows }
}

/** The row of a source; nulls where an outer join found none. */
function rowOf(scope: Scope, { as, columns }: Omit<Binding, 'row'>): Row {
  return scope.bindingOf(as)?.row ?? Object.fromEntries(columns.map((name) => [name, null]))
}

/** The result of a statement, and the work that it adds to its transaction. */
export type ExecutionResult =
  | { readonly kind: 'result'; readonly result: Result; readonly work: Work }
  | {
      readonly kind: 'blocked'
      readonly blockedBy: number
      readonly work: Work
      readonly passed: readonly number[]
    }
  | ErrorResult

/** By their texts, the statements that were executed so far. */
export const parsedStatements = new Map<string, Statement>()

function parse(text: string): Statement {
  const cached = parsedStatements.get(text)
  if (cached !== undefined) return cached
  const statement = parseStatement(text)
  parsedStatements.set(text, statement)
  return statement
}

/**
 * @param idPrefix prefix of the ids that the store generates.
 * @throws UnknownSqlError for SQL that the model does not support.
 */
export function executeStatement(
  schema: Schema,
  view: View,
  { text, parameters }: { readonly text: string; readonly parameters: readonly Value[] },
  idPrefix = 'job',
): ExecutionResult {
  let count = 0
  const makeUuid = () => `${idPrefix}-${(count += 1)}`
  const execution = new Execution(schema, view, parameters, makeUuid)
  const statement = parse(text)
  try {
    const result = execution.run(statement)
    return { kind: 'result', result, work: execution.changes.work }
  } catch (error) {
    if (error instanceof Blocked) {
      const { passed } = execution.changes
      const work = execution.changes.workWhileWaiting(statement.body)
      return { kind: 'blocked', blockedBy: error.blockedBy, work, passed }
    }
    return errorResultOf(error)
  }
}

/**
 * The committed rows after a transaction.
 *
 * @throws PostgresError when a row refers to none. The transaction is rolled back then.
 */
export function commit(schema: Schema, database: Database, { changes }: Work): Database {
  if (changes.length === 0) return database
  const after: Record<string, readonly Row[]> = { ...database }
  const byTable = [...Map.groupBy(changes, ({ table }) => table)].map(
    ([name, own]) => [tableNamed(schema, name), own] as const,
  )
  for (const [table, own] of byTable) {
    after[table.name] = rowsWith(database[table.name] ?? [], (row) => keyOfRow(table, row), own)
  }
  for (const [table, own] of byTable) {
    const deferred = table.references.filter(({ isDeferred }) => isDeferred)
    for (const { row } of own) {
      const dangling = row && deferred.find((reference) => !isMet(schema, after, reference, row))
      if (dangling) throw violationOf(FOREIGN_KEY_VIOLATION, dangling.name)
    }
  }
  return after
}

function isMet(schema: Schema, database: Database, reference: Reference, row: Row): boolean {
  const key = referredKey(reference, row)
  const parent = tableNamed(schema, reference.table)
  return (
    key === undefined ||
    (database[parent.name] ?? []).some((other) => keyOfRow(parent, other) === key)
  )
}
