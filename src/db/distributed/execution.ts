// Executes the parts of a statement, one after the other: each reads the rows of those before it.
import type { TransactionSql as Transaction } from 'postgres'
import {
  hasQuery,
  insertFrom,
  insertRows,
  joinRows,
  selectAll,
  SOURCE,
  valuesOf,
  withNames,
  withoutRows,
  withTypes,
  type Values,
} from './built-parts.ts'
import { gather, GATHERED, type Gathering } from './gather.ts'
import { memo } from './memo.ts'
import { loadParser } from './parser.ts'
import { asJson, concat, project, recordset, renamed, type Rows } from './rows.ts'
import { namesOfRows, usesDistributed, usesLocal, type Known } from './scope.ts'
import { splitChange, splitSelect, type Split } from './split.ts'
import { VALUES, type Queries } from './statement.ts'
import { as, replace, type Body, type Node } from './syntax.ts'
import type { Tables } from './tables.ts'
import { withTenant } from './tenant-key.ts'

const NO_VALUES: Values = new Map()

const newMap = () => new Map<number, Node>()

interface Prepared {
  readonly text: string
  /** The number of each parameter, and the names of the earlier parts whose rows follow. */
  readonly numbers: readonly number[]
  readonly rowsOf: readonly string[]
}

/** What is derived from a node once: the nodes of a statement are kept. */
const prepared = new WeakMap<object, Prepared>()
const splits = new WeakMap<object, Split>()
const gatherings = new WeakMap<object, { readonly of: Gathering | undefined }>()
const typed = new WeakMap<Split, Node>()
const built = new WeakMap<object, Node>()
/** By the number of rows. */
const inserts = new WeakMap<object, Map<number, Node>>()
const described = new WeakMap<object, Rows['columns']>()

/** How many rows one statement inserts. A statement has 65,535 parameters at most. */
const ROWS_AT_ONCE = 100

export interface ExecutionOptions {
  readonly tx: Transaction
  readonly values: Values
  readonly tables: Tables
  /** Whether it sees a single tenant: then each part goes to one node as a whole. */
  readonly hasTenant: boolean
}

/** One execution of a statement. */
export class Execution {
  readonly #tx: Transaction
  readonly #values: Values
  readonly #hasTenant: boolean
  readonly #known: Known
  readonly #rows = new Map<string, Rows>()

  constructor({ tx, values, tables, hasTenant }: ExecutionOptions) {
    this.#tx = tx
    this.#values = values
    this.#hasTenant = hasTenant
    this.#known = {
      rowsOf: (name) => this.#rows.get(name)?.columns.map((each) => each.name),
      columnsOf: (name) => tables.columns.get(name) ?? [],
      isDistributed: (name) => tables.distributed.has(name),
    }
  }

  async run({ named, main }: Queries): Promise<Rows> {
    for (const { name, columns, query } of named) {
      this.#rows.set(name, renamed(await this.#query(query), columns))
    }
    return await this.#query(main)
  }

  async #query(node: Node): Promise<Rows> {
    const query = as(node, 'SelectStmt')
    if (query) return await this.#select(query, node)
    if (as(node, 'InsertStmt')) return await this.#insert(node)
    if (!usesDistributed(node, this.#known)) return await this.#send(node)
    requireDistributed(node, this.#known)
    const split = memo(splits, node, () => splitChange(node, this.#known))
    return await (this.#hasTenant ? this.#joined(split) : this.#forEachRow(split))
  }

  async #select(query: Body<'SelectStmt'>, node: Node): Promise<Rows> {
    if (!usesDistributed(query, this.#known)) return await this.#send(node)
    const isOnOneNode = this.#hasTenant && !usesLocal(query, this.#known)
    if (isOnOneNode) return await this.#send(memo(built, node, () => this.#withTenant(node)))
    const { larg, rarg } = query
    if (larg && rarg) return await this.#union(query, [larg, rarg])
    const gathering = memo(gatherings, node, () => ({ of: gather(query, this.#known) })).of
    if (gathering) {
      this.#rows.set(GATHERED, await this.#query(gathering.rows))
      return await this.#send(gathering.result)
    }
    const split = memo(splits, node, () => splitSelect(query, this.#known))
    return await this.#forEachRow(split)
  }

  async #union(query: Body<'SelectStmt'>, arms: Body<'SelectStmt'>[]): Promise<Rows> {
    const names = arms.map((_, index) => `arm_${index}`)
    for (const [index, arm] of arms.entries()) {
      const node = memo(built, arm, () => ({ SelectStmt: arm }))
      this.#rows.set(names[index] ?? '', await this.#query(node))
    }
    const [larg, rarg] = names.map((name) => selectAll(name))
    return await this.#send(
      memo(built, query, () => ({ SelectStmt: { ...query, larg, rarg } as Body<'SelectStmt'> })),
    )
  }

  async #insert(node: Node): Promise<Rows> {
    const insert = as(node, 'InsertStmt') ?? {}
    const query = as(insert.selectStmt, 'SelectStmt') ?? {}
    const isRemote = this.#known.isDistributed(insert.relation?.relname ?? '')
    if (!isRemote && !usesDistributed(node, this.#known)) return await this.#send(node)
    if (query.valuesLists && !hasQuery(query.valuesLists)) return await this.#send(node)
    const named = memo(built, query, () => ({ SelectStmt: withNames(query) }))
    const rows = await this.#query(named)
    if (!isRemote) {
      this.#rows.set(SOURCE, rows)
      return await this.#send(memo(built, node, () => insertFrom(insert, SOURCE, rows)))
    }
    const results: Rows[] = []
    for (let start = 0; start < rows.length; start += ROWS_AT_ONCE) {
      const batch = rows.slice(start, start + ROWS_AT_ONCE)
      const statement = memo(memo(inserts, node, newMap), batch.length, () =>
        insertRows(insert, rows, batch.length),
      )
      results.push(await this.#send(statement, valuesOf(rows, batch)))
    }
    return concat(results, results[0]?.columns ?? (await this.#describe(node)))
  }

  /** One statement for all rows of a split: their values are joined. */
  async #joined(split: Split): Promise<Rows> {
    const rows = await this.#rowsOf(split)
    const statement = memo(built, split, () => this.#withTenant(joinRows(split)))
    if (rows) this.#rows.set(SOURCE, rows)
    if (rows?.length === 0) return concat([], await this.#describe(statement))
    return await this.#send(statement)
  }

  async #rowsOf({ rows, chosen }: Split): Promise<Rows | undefined> {
    return (chosen && this.#choose(chosen)) ?? (rows && (await this.#send(rows)))
  }

  async #forEachRow(split: Split): Promise<Rows> {
    const { parameters } = split
    const rows = await this.#rowsOf(split)
    if (rows === undefined) {
      return await this.#send(memo(built, split, () => this.#withTenant(split.statement)))
    }
    const statement = memo(typed, split, () =>
      this.#withTenant(withTypes(split.statement, parameters, rows)),
    )
    const results = await this.#sendEach(statement, rows)
    return concat(results, results[0]?.columns ?? (await this.#describe(statement)))
  }

  /** The rows of an earlier part: what the query would return. */
  #choose({ name, columns }: NonNullable<Split['chosen']>): Rows | undefined {
    const rows = this.#rows.get(name)
    return (
      rows &&
      project(
        rows,
        columns.map((each, index) => [each, `value_${index}`]),
      )
    )
  }

  #withTenant(node: Node): Node {
    return withTenant(node, this.#known, this.#hasTenant)
  }

  /** The values of each row are the parameters from VALUES on. */
  async #sendEach(statement: Node, rows: Rows): Promise<Rows[]> {
    return await Promise.all(rows.map((row) => this.#send(statement, valuesOf(rows, [row]))))
  }

  /** The columns of a statement that was not executed: there was no row for it. */
  async #describe(statement: Node): Promise<Rows['columns']> {
    const known = described.get(statement)
    if (known) return known
    const query = withoutRows(statement)
    const { columns } = query === undefined ? { columns: [] } : await this.#send(query)
    described.set(statement, columns)
    return columns
  }

  /** @param row the values of a row: null, if there is none. */
  async #send(node: Node, row: Values = NO_VALUES): Promise<Rows> {
    const { text, numbers, rowsOf } = memo(prepared, node, () => this.#prepare(node))
    const values = numbers.map((number) => {
      if (number < VALUES) return this.#values.get(number)
      return row.get(number) ?? null
    })
    const passed = rowsOf.map((name) => asJson(this.#rows.get(name) ?? concat([], [])))
    const parameters = [...values, ...passed] as never[]
    return await this.#tx.unsafe(text, parameters, { prepare: true })
  }

  /** The text, with the parameters that it needs, and the rows of the earlier parts that it reads. */
  #prepare(node: Node): Prepared {
    const rowsOf = namesOfRows(node, this.#known)
    const places = new Map<number, number>()
    const numbered = replace(node, (part) => {
      const number = as(part, 'ParamRef')?.number
      if (number === undefined) return undefined
      const place = places.get(number) ?? places.size + 1
      places.set(number, place)
      return { ParamRef: { number: place } }
    })
    const numbers = [...places.keys()]
    const text = loadParser().deparseSync(numbered)
    const passed = rowsOf.flatMap((name, index) => {
      const rows = this.#rows.get(name)
      return rows ? [recordset(name, rows, numbers.length + index + 1)] : []
    })
    const withRows = passed.length === 0 ? text : `with ${passed.join(', ')} ${text}`
    return { text: withRows, numbers, rowsOf }
  }
}

/**
 * Citus 13.2 crashes at some changes of a local table that use a distributed one.
 *
 * @throws Error for such a change: an earlier part has to read the distributed table.
 */
function requireDistributed(node: Node, known: Known): void {
  const { relation } = as(node, 'UpdateStmt') ?? as(node, 'DeleteStmt') ?? {}
  if (relation?.schemaname === undefined && known.isDistributed(relation?.relname ?? '')) return
  throw new Error(`A change of ${relation?.relname} uses a distributed table`)
}
