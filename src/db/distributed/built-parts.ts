// Builds the statements of parts: an insert of rows, a change of the rows of a split.
import { asParameter, typeOf, type Rows } from './rows.ts'
import type { Split } from './split.ts'
import { VALUES } from './statement.ts'
import {
  allOf,
  as,
  column,
  FALSE,
  namesOf,
  parameter,
  replace,
  select,
  some,
  table,
  target,
  type Body,
  type Node,
} from './syntax.ts'

/** The values of parameters, by their numbers. */
export type Values = ReadonlyMap<number, unknown>

export const hasQuery = (tree: unknown): boolean => some(tree, (part) => 'SubLink' in part)

export const selectAll = (name: string): Body<'SelectStmt'> =>
  select({
    targetList: [{ ResTarget: { val: { ColumnRef: { fields: [{ A_Star: {} }] } } } }],
    fromClause: [table(name)],
  }).SelectStmt

/** Each column with a name of its own: two calls of a function have the same. */
export function withNames(query: Body<'SelectStmt'>): Body<'SelectStmt'> {
  const targetList = query.targetList?.map((node, index) => {
    const { val } = as(node, 'ResTarget') ?? {}
    const isStar = namesOf(as(val, 'ColumnRef') ?? {}).at(-1) === '*'
    return val === undefined || isStar ? node : target(`column_${index}`, val)
  })
  return { ...query, ...(targetList && { targetList }) }
}

/** Inserts the rows of an earlier part. */
export function insertFrom(insert: Body<'InsertStmt'>, from: string, { columns }: Rows): Node {
  const targetList = columns.map((each) => ({ ResTarget: { val: column(each.name) } }))
  const selectStmt = select({ targetList, fromClause: [table(from)] })
  return { InsertStmt: { ...insert, selectStmt } }
}

/** Inserts the rows, whose values are parameters. */
export function insertRows(insert: Body<'InsertStmt'>, { columns }: Rows, length: number): Node {
  const valuesLists = Array.from({ length }, (_, row) => {
    const items = columns.map((_column, index) => parameter(VALUES + row * columns.length + index))
    return { List: { items } }
  })
  return { InsertStmt: { ...insert, selectStmt: select({ valuesLists }) } }
}

/** The values of some of the rows, as the parameters from VALUES on. */
export function valuesOf({ columns }: Rows, rows: Iterable<Record<string, unknown>>): Values {
  const values = [...rows].flatMap((row) =>
    columns.map(({ name, type }) => asParameter(row[name], type)),
  )
  return new Map(values.map((value, index) => [VALUES + index, value]))
}

/** The name of the rows of a split, when they are joined. */
export const SOURCE = 'source'

/** The statement of a split for all of its rows: they are joined, and its parameters their columns. */
export function joinRows({ rows, parameters, statement }: Split): Node {
  if (rows === undefined) return statement
  const joined = replace(statement, (part) => {
    const index = parameters.indexOf(as(part, 'ParamRef')?.number ?? 0)
    return index < 0 ? undefined : column(SOURCE, `value_${index}`)
  })
  const update = as(joined, 'UpdateStmt')
  if (update) {
    return { UpdateStmt: { ...update, fromClause: [table(SOURCE), ...(update.fromClause ?? [])] } }
  }
  const deletion = as(joined, 'DeleteStmt') ?? {}
  const usingClause = [table(SOURCE), ...(deletion.usingClause ?? [])]
  return { DeleteStmt: { ...deletion, usingClause } }
}

/** The parameters of the values get the types that the columns have. */
export function withTypes(statement: Node, parameters: readonly number[], { columns }: Rows): Node {
  const types = new Map(parameters.map((number, index) => [number, columns[index]?.type] as const))
  return replace(statement, (part) => {
    const number = as(part, 'ParamRef')?.number ?? 0
    const type = types.get(number)
    return type === undefined ? undefined : parameter(number, typeOf(type))
  })
}

/** A query for the columns that the statement returns; undefined if it returns none. */
export function withoutRows(statement: Node): Node | undefined {
  const query = as(statement, 'SelectStmt')
  if (query)
    return { SelectStmt: { ...query, whereClause: allOf(FALSE, query.whereClause) ?? FALSE } }
  const change =
    as(statement, 'InsertStmt') ?? as(statement, 'UpdateStmt') ?? as(statement, 'DeleteStmt')
  const targetList = change?.returningClause?.exprs
  if (!targetList || !change?.relation) return undefined
  const joined = as(statement, 'UpdateStmt')?.fromClause ?? as(statement, 'DeleteStmt')?.usingClause
  const fromClause = [{ RangeVar: change.relation }, ...(joined ?? [])]
  return select({ targetList, fromClause, whereClause: FALSE })
}
