// Executes one statement under read committed: it sees the snapshot of its beginning, waits for the
// locks of other transactions, and evaluates its condition again on a row that changed meanwhile.
// https://www.postgresql.org/docs/current/transaction-iso.html#XACT-READ-COMMITTED
import { evaluate, groupOf, holds, isAggregate, type EvaluationContext } from '../sql/evaluate.ts'
import { cast } from '../sql/functions.ts'
import { Scope, type Binding } from '../sql/scope.ts'
import type { Item, Query, Select, Source } from '../sql/syntax.ts'
import { UnknownSqlError } from '../sql/tokens.ts'
import { RowChanges, type ChangedRows, type View } from './row-changes.ts'
import { isObject, type Relation, type Row, type Value } from './rows.ts'
import type { Schema } from './schema.ts'

/** The rows of a statement, and how many rows it returned or, without `returning`, changed. */
export interface Result {
  readonly rows: readonly Row[]
  readonly count: number
}

interface Cte {
  readonly query: Query
  relation: Relation | undefined
}

export class Execution implements EvaluationContext {
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
  run(query: Query): Result {
    const touched = this.#query(query, new Scope([]))
    this.changes.checkReferences()
    return { rows: touched.rows, count: touched.count }
  }

  select(query: Query, around: Scope): Relation {
    return this.#query(query, around)
  }

  #query({ ctes, body }: Query, around: Scope): Relation & { readonly count: number } {
    for (const { name, query } of ctes) this.#ctes.set(name, { query, relation: undefined })
    const result = body.kind === 'select' ? this.#select(body, around) : this.#change(body, around)
    // PostgreSQL executes data-modifying common table expressions even if nothing reads them.
    for (const { name, query } of ctes) {
      if (query.body.kind !== 'select') this.#relationOf(name)
    }
    return result
  }

  #relationOf(name: string): Relation {
    const cte = this.#ctes.get(name)
    if (cte === undefined) return this.changes.visible(name)
    cte.relation ??= this.#query(cte.query, new Scope([]))
    return cte.relation
  }

  #select(select: Select, around: Scope): Relation & { readonly count: number } {
    const { scopes: joined, shape } = this.#join(select.from, [new Scope([], around)])
    const matching = joined.filter((scope) => holds(select.where, scope, this))
    const locked = select.locks === undefined ? matching : this.#lock(select, matching)
    const scopes = this.#limit(select, this.#order(select, this.#group(select, locked, around)))
    const relation = this.#project(select.items, scopes, shape)
    const union = select.union && this.#select(select.union, around)
    const rows = [...relation.rows, ...(union === undefined ? [] : renameColumns(union, relation))]
    return { columns: relation.columns, rows, count: rows.length }
  }

  #lock(select: Select, scopes: readonly Scope[]): Scope[] {
    const locks = select.locks ?? ''
    const table = select.from.find(({ as }) => as === locks)?.from
    if (table?.kind !== 'table') throw new UnknownSqlError(`${locks} cannot be locked`)
    return scopes.flatMap((scope) => {
      const row = scope.bindingOf(locks)?.row ?? undefined
      const newest = row && this.changes.lock(table.name, row, 'no key update')
      if (newest === undefined) return []
      const rechecked = scope.replacing(locks, newest)
      return newest === row || holds(select.where, rechecked, this) ? [rechecked] : []
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
    if (from.kind === 'query') return this.#query(from.query, scope)
    const values = from.parts.map((part) => evaluate(part, scope, this))
    if (from.name === 'unnest') return unnest(values, columns ?? [as])
    if (from.name === 'jsonb_to_recordset') return recordset(values[0] ?? null, columns ?? [])
    throw new UnknownSqlError(`unknown function ${from.name} in from`)
  }

  /** For a source that no row was joined with. */
  #columnsOf({ from, columns = [] }: Source): readonly string[] {
    if (from.kind === 'table') return this.#relationOf(from.name).columns
    if (from.kind === 'call') return columns
    const { body } = from.query
    if (body.kind !== 'select') return []
    return body.items.flatMap((item) => (item.star === undefined ? [item.as] : []))
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

  #change(body: Exclude<Query['body'], Select>, around: Scope) {
    const touched = this.#touch(body, around)
    const shape = [touched.target, ...touched.shape]
    const { columns, rows } = this.#project(body.returning ?? [], touched.scopes, shape)
    // Without `returning` there are no rows, only a count.
    const returned = body.returning === undefined ? [] : rows
    return { columns, rows: returned, count: touched.scopes.length }
  }

  #touch(
    body: Exclude<Query['body'], Select>,
    around: Scope,
  ): ChangedRows & { readonly shape: readonly Omit<Binding, 'row'>[] } {
    if (body.kind === 'insert') {
      return { ...this.changes.insert(body, this.#select(body.rows, around)), shape: [] }
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

function renameColumns({ columns, rows }: Relation, to: Relation): Row[] {
  return rows.map((row) => {
    const values = to.columns.map((name, index) => [name, row[columns[index] ?? ''] ?? null])
    return Object.fromEntries(values) as Row
  })
}

/** As PostgreSQL sorts: nulls last. */
function compareForSort(one: Value, other: Value): number {
  if (one === other) return 0
  if (one === null) return 1
  if (other === null) return -1
  return one < other ? -1 : 1
}

function unnest(arrays: readonly Value[], columns: readonly string[]): Relation {
  const names = arrays.map((_, index) => columns[index] ?? `unnest_${index}`)
  const lists = arrays.map((array) => (Array.isArray(array) ? (array as Value[]) : []))
  const length = Math.max(0, ...lists.map((list) => list.length))
  const rows = Array.from({ length }, (_, at) =>
    Object.fromEntries(names.map((name, index) => [name, lists[index]?.[at] ?? null])),
  )
  return { columns: names, rows }
}

/** JSON contains timestamps as text. */
function recordset(array: Value, columns: readonly string[]): Relation {
  const records = Array.isArray(array) ? (array as Value[]) : []
  const rows = records.map((record) => {
    const values = isObject(record) ? record : {}
    return Object.fromEntries(
      columns.map((name) => {
        const value = values[name] ?? null
        return [name, name.endsWith('_at') ? cast(value, 'timestamptz') : value]
      }),
    )
  })
  return { columns, rows }
}

/** The row of a source; nulls where an outer join found none. */
function rowOf(scope: Scope, { as, columns }: Omit<Binding, 'row'>): Row {
  return scope.bindingOf(as)?.row ?? Object.fromEntries(columns.map((name) => [name, null]))
}
