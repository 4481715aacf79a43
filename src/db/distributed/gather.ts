// Gathers the rows of a query that cannot be read row by row.
import { References, separate, usesLocal, type Known, type Reference } from './scope.ts'
import { rowOf, Splitting } from './split.ts'
import {
  allOf,
  calledFunction,
  column,
  conjuncts,
  flatten,
  ONE,
  present,
  select,
  some,
  table,
  target,
  type Body,
  type Node,
} from './syntax.ts'

/** A query that reads all rows, and one that does with them what cannot be done row by row. */
export interface Gathering {
  readonly rows: Node
  readonly result: Node
}

/** The name of the rows that were gathered. */
export const GATHERED = 'gathered'

/**
 * Gathers the rows for a query that sorts, counts or limits those of several tenants, or that uses
 * tables of this node in a condition or a column. Undefined for another one.
 */
export function gather(query: Body<'SelectStmt'>, known: Known): Gathering | undefined {
  const { fromClause, whereClause, lockingClause, ...rest } = query
  const { items, conditions } = flatten(fromClause)
  const { sources } = separate(items, known)
  const all = [...conditions, ...conjuncts(whereClause)]
  const local = all.filter((condition) => usesLocal(condition, known))
  const isRowByRow = sources.length === 0 || !isOfAllRows(query)
  if (local.length === 0 && !usesLocal(rest, known) && isRowByRow) return undefined
  const references = new References(items, [], known)
  const columns = new Map<string, Node>()
  const gathered = ({ alias, column: name }: Reference): Node => {
    const key = name === undefined ? alias : `${alias}.${name}`
    columns.set(key, name === undefined ? rowOf(alias) : column(alias, name))
    return column(GATHERED, `column_${[...columns.keys()].indexOf(key)}`)
  }
  const splitting = new Splitting([], items, known)
  const targetList = splitting.expand(rest.targetList, 'all')
  const result = references.replaceIn(
    { ...rest, ...present({ targetList, whereClause: allOf(...local) }) },
    gathered,
  )
  const list = [...columns.values()].map((value, index) => target(`column_${index}`, value))
  const isLimited = local.length === 0 && isRowByRow && !usesLocal(rest.sortClause, known)
  const limits = isLimited
    ? { sortClause: rest.sortClause, limitCount: rest.limitCount, limitOption: rest.limitOption }
    : {}
  const whereGathered = allOf(...all.filter((condition) => !local.includes(condition)))
  return {
    rows: select({
      ...present({ lockingClause, ...limits }),
      targetList: list.length === 0 ? [ONE] : list,
      fromClause: items,
      ...(whereGathered && { whereClause: whereGathered }),
    } as Body<'SelectStmt'>),
    result: select({ ...result, fromClause: [table(GATHERED)] } as Body<'SelectStmt'>),
  }
}

const AGGREGATES = new Set(['count', 'sum', 'max', 'min', 'array_agg', 'jsonb_agg', 'bool_or'])

const isAggregate = (part: object): boolean => AGGREGATES.has(calledFunction(part) ?? '')

/** Whether it sorts, counts or limits rows. */
function isOfAllRows(query: Body<'SelectStmt'>): boolean {
  const { sortClause, limitCount, groupClause, distinctClause, targetList } = query
  return (
    [sortClause, limitCount, groupClause, distinctClause].some((clause) => clause !== undefined) ||
    some(targetList, isAggregate)
  )
}
