// Splits a statement that joins rows with tables of other nodes: a local query, and one statement for
// each of its rows, with the row's values as parameters. So each of these names one tenant.
import { columnsOf, References, separate, type Known, type Reference } from './scope.ts'
import { VALUES } from './statement.ts'
import {
  aliasOf,
  allOf,
  as,
  column,
  conjuncts,
  flatten,
  namesOf,
  ONE,
  parameter,
  present,
  replace,
  select,
  some,
  target,
  type Body,
  type Node,
} from './syntax.ts'

export interface Split {
  /** The rows of an earlier part, if these are the rows: only their columns are chosen. */
  readonly chosen?: { readonly name: string; readonly columns: readonly string[] } | undefined
  /** Reads one row for each statement; undefined for a single statement without values. */
  readonly rows: Node | undefined
  /** The parameters of the values, in the order of the row's columns. */
  readonly parameters: readonly number[]
  readonly statement: Node
}

type Changing = Body<'UpdateStmt'> & Body<'DeleteStmt'>

/** Splits a SELECT that is no union. */
export function splitSelect(query: Body<'SelectStmt'>, known: Known): Split {
  const { fromClause, whereClause, ...rest } = query
  const { items, conditions } = flatten(fromClause)
  const { sources, tables } = separate(items, known)
  if (sources.length === 0)
    return { rows: undefined, parameters: [], statement: { SelectStmt: query } }
  const splitting = new Splitting(sources, tables, known)
  const list = splitting.expand(rest.targetList)
  const { own, others } = splitting.divide([...conditions, ...conjuncts(whereClause)])
  const statement = splitting.replaceIn({
    ...rest,
    targetList: list,
    fromClause: tables,
    whereClause: allOf(...others),
  })
  return splitting.result(own, select(statement as Body<'SelectStmt'>))
}

/** Splits an UPDATE or a DELETE. What needs no table is computed before, once. */
export function splitChange(node: Node, known: Known): Split {
  const kind = as(node, 'UpdateStmt') ? 'UpdateStmt' : 'DeleteStmt'
  const from = kind === 'UpdateStmt' ? 'fromClause' : 'usingClause'
  const { [from]: joined, whereClause, ...rest } = (as(node, kind) ?? {}) as Changing
  const { items, conditions } = flatten(joined)
  const { sources, tables } = separate(items, known)
  const relation: Node = { RangeVar: rest.relation ?? {} }
  const splitting = new Splitting(sources, [...tables, relation], known)
  const { own, others } = splitting.divide([...conditions, ...conjuncts(whereClause)])
  const { returningClause } = rest
  const statement = splitting.replaceIn({
    ...rest,
    targetList: splitting.compute(rest.targetList),
    [from]: tables,
    whereClause: splitting.compute(allOf(...others)),
    ...(returningClause && {
      returningClause: { ...returningClause, exprs: splitting.expand(returningClause.exprs) },
    }),
  })
  return splitting.result(own, { [kind]: present(statement) } as unknown as Node)
}

/** Collects the values that a statement needs from its sources. */
export class Splitting {
  readonly #sources: readonly Node[]
  readonly #tables: readonly Node[]
  readonly #known: Known
  readonly #references: References
  /** The columns of the local query, by what tells them apart. */
  readonly #values = new Map<string, { readonly number: number; readonly value: Node }>()

  constructor(sources: readonly Node[], tables: readonly Node[], known: Known) {
    this.#sources = sources
    this.#tables = tables
    this.#known = known
    this.#references = new References(sources, tables, known)
  }

  /** The conditions on the sources alone, and the others. */
  divide(conditions: readonly Node[]): { own: Node[]; others: Node[] } {
    const isOwn = (condition: Node) =>
      this.#sources.length > 0 && this.#references.isOnlyOfSources(condition)
    return {
      own: conditions.filter(isOwn),
      others: conditions.filter((condition) => !isOwn(condition)),
    }
  }

  replaceIn<T>(tree: T): T {
    return this.#references.replaceIn(tree, (reference) => this.#valueOf(reference))
  }

  /** Replaces the operations and the calls that need no table. */
  compute<T>(tree: T): T {
    return replace(tree, (part) => {
      if ('SubLink' in part) return part
      const isComputed = 'FuncCall' in part || 'A_Expr' in part
      const needsNoTable = isComputed && this.#references.isOnlyOfSources(part as unknown as Node)
      if (!needsNoTable || some(part, (inner) => 'A_Star' in inner)) return undefined
      return this.#parameter(JSON.stringify(part), part as unknown as Node)
    })
  }

  /** Names all columns of a list: instead of a star of a source, and those that become parameters. */
  expand(list: readonly Node[] = [], stars: 'sources' | 'all' = 'sources'): Node[] {
    return list.flatMap((node) => {
      const { name, val } = as(node, 'ResTarget') ?? {}
      const reference = as(val, 'ColumnRef')
      if (val === undefined || reference === undefined) return [node]
      const names = namesOf(reference)
      const last = names.at(-1) ?? ''
      if (last !== '*') return [target(name ?? last, val)]
      const items = [...this.#sources, ...this.#tables]
      const meant = names.length === 1 ? items : items.filter((item) => aliasOf(item) === names[0])
      return meant.length === 0 ? [node] : meant.flatMap((item) => this.#starOf(item, stars))
    })
  }

  result(own: readonly Node[], statement: Node): Split {
    const values = [...this.#values.values()]
    if (values.length === 0 && this.#sources.length === 0) {
      return { rows: undefined, parameters: [], statement }
    }
    const list = values.map(({ value }, index) => target(`value_${index}`, value))
    const rows = select({
      targetList: list.length === 0 ? [ONE] : list,
      fromClause: [...this.#sources],
      ...present({ whereClause: allOf(...own) }),
    } as Body<'SelectStmt'>)
    const chosen = own.length === 0 ? this.#chosen(values.map(({ value }) => value)) : undefined
    return { rows, chosen, parameters: values.map(({ number }) => number), statement }
  }

  /** The columns of the only source, if it is an earlier part and all values are its columns. */
  #chosen(values: readonly Node[]): Split['chosen'] {
    const [source, other] = this.#sources
    const name = as(source, 'RangeVar')?.relname
    if (name === undefined || other !== undefined || !this.#known.rowsOf(name)) return undefined
    const columns = values.map((value) => namesOf(as(value, 'ColumnRef') ?? {})[1])
    return columns.every((each) => each !== undefined) ? { name, columns } : undefined
  }

  #starOf(item: Node, stars: 'sources' | 'all'): Node[] {
    const alias = aliasOf(item)
    if (stars === 'sources' && !this.#sources.includes(item)) {
      return [
        {
          ResTarget: {
            val: { ColumnRef: { fields: [{ String: { sval: alias } }, { A_Star: {} }] } },
          },
        },
      ]
    }
    return columnsOf(item, this.#known).map((name) => target(name, column(alias, name)))
  }

  #valueOf({ alias, column: name }: Reference): Node {
    if (name !== undefined) return this.#parameter(`${alias}.${name}`, column(alias, name))
    return this.#parameter(alias, rowOf(alias))
  }

  #parameter(key: string, value: Node): Node {
    const known = this.#values.get(key)
    const number = known?.number ?? VALUES + this.#values.size
    if (!known) this.#values.set(key, { number, value })
    return parameter(number)
  }
}

/** A whole row. */
export const rowOf = (alias: string): Node => ({
  FuncCall: {
    funcname: [{ String: { sval: 'to_jsonb' } }],
    args: [column(alias)],
    funcformat: 'COERCE_EXPLICIT_CALL',
  },
})
