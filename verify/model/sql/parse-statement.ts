// Translates what PostgreSQL's own parser makes of a statement into the part of SQL that the product's
// statements use. Anything else in a statement is an error, so that nothing of it is ignored.
import { loadModule, parseSync } from 'pgsql-parser'
import { type LockMode, toText } from '../store/rows.ts'
import type {
  Assignment,
  ColumnDefinition,
  Expression,
  Insert,
  Item,
  Query,
  Select,
  Source,
  Statement,
} from './syntax.ts'
import { UnknownSqlError } from './syntax.ts'

await loadModule()

/** A node of the parser's tree: an object with its kind as the only name. */
type Node = NonNullable<NonNullable<Awaited<ReturnType<typeof parseSync>>['stmts']>[number]['stmt']>
type Nodes = readonly Node[]
type FieldsIn<Own extends string, Each> =
  Each extends Readonly<Record<Own, infer Found>> ? Found : never
type Fields<Own extends string> = FieldsIn<Own, Node>

/** @throws UnknownSqlError for SQL that the model does not support. */
export function parseStatement(text: string): Statement {
  const [{ stmt } = {}] = parseSync(text).stmts ?? []
  checkFields(stmt)
  if (stmt !== undefined && 'InsertStmt' in stmt)
    return { ctes: [], body: insertOf(stmt.InsertStmt) }
  if (stmt !== undefined && 'UpdateStmt' in stmt) {
    const { targetList = [], fromClause, ...rest } = stmt.UpdateStmt
    const set = targetList.map(assignmentOf)
    return { ctes: [], body: { kind: 'update', set, ...changeOf(rest, fromClause) } }
  }
  if (stmt !== undefined && 'DeleteStmt' in stmt) {
    const { usingClause, ...rest } = stmt.DeleteStmt
    return { ctes: [], body: { kind: 'delete', ...changeOf(rest, usingClause) } }
  }
  return queryOf(stmt)
}

/** @throws UnknownSqlError for SQL that the model does not support. */
export function parseExpression(text: string): Expression {
  const { body } = parseStatement(`select ${text}`)
  const [item] = body.kind === 'select' ? body.items : []
  if (item === undefined || item.star === true) throw new UnknownSqlError(text)
  return item.expression
}

const words = (text: string): string[] => text.trim().split(/\s+/)

/** The fields that are translated, and those that say nothing about the meaning. */
const KNOWN_FIELDS = new Set(
  words(`
    targetList fromClause whereClause groupClause sortClause limitCount lockingClause withClause
    valuesLists relation cols selectStmt onConflictClause returningClause usingClause exprs ctes ctename
    ctequery action infer indexElems name val node sortby_dir strength jointype larg rarg quals relname
    schemaname alias aliasname colnames lateral subquery functions coldeflist colname typeName names
    arrayBounds items fields sval ival fval boolval isnull number funcname args op kind lexpr rexpr boolop
    arg nulltesttype subLinkType testexpr subselect expr result defresult elements
    location inh is_local relpersistence funcformat typemod row_format list_start list_end limitOption
    rexpr_list_start rexpr_list_end ctematerialized ordering nulls_ordering`),
)
/** Fields that must have this value. */
const USUAL: Readonly<Record<string, unknown>> = {
  override: 'OVERRIDING_NOT_SET',
  waitPolicy: 'LockWaitBlock',
  sortby_nulls: 'SORTBY_NULLS_DEFAULT',
}

/** @throws UnknownSqlError when a node has another field. */
function checkFields(tree: unknown): void {
  if (typeof tree !== 'object' || tree === null) return
  for (const [name, value] of Object.entries(tree)) {
    const isKind = /^[A-Z\d]/.test(name)
    if (!isKind && !KNOWN_FIELDS.has(name) && USUAL[name] !== value) {
      throw unknown(`unknown ${name}:`, tree)
    }
    checkFields(value)
  }
}

const unknown = (what: string, node: unknown): UnknownSqlError =>
  new UnknownSqlError(`${what} ${JSON.stringify(node)?.slice(0, 200)}`)

/** The fields of a node of this kind. */
function fieldsOf<Own extends string>(kind: Own, node: Node | undefined): Fields<Own> {
  if (node === undefined || !(kind in node)) throw unknown(`expected ${kind}:`, node)
  return (node as Readonly<Record<string, unknown>>)[kind] as Fields<Own>
}

function queryOf(node: Node | undefined): Query {
  const { withClause, ...select } = fieldsOf('SelectStmt', node)
  const ctes = (withClause?.ctes ?? []).map((cte) => {
    const { ctename = '', ctequery } = fieldsOf('CommonTableExpr', cte)
    return { name: ctename, query: queryOf(ctequery) }
  })
  return { ctes, body: selectOf(select) }
}

function selectOf(select: Fields<'SelectStmt'>): Select {
  const { targetList = [], fromClause, whereClause, groupClause = [] } = select
  const { sortClause = [], limitCount, lockingClause = [], op } = select
  if (op !== 'SETOP_NONE') throw unknown('unknown query:', select)
  return {
    kind: 'select',
    items: itemsOf(targetList),
    from: sourcesOf(fromClause),
    where: optional(whereClause),
    groupBy: groupClause.map(expressionOf),
    orderBy: sortClause.map((order) => {
      const { node, sortby_dir } = fieldsOf('SortBy', order)
      return { by: expressionOf(node), descending: sortby_dir === 'SORTBY_DESC' }
    }),
    limit: optional(limitCount),
    locks: lockingClause.map(lockOf)[0],
  }
}

function lockOf(node: Node): LockMode {
  const { strength } = fieldsOf('LockingClause', node)
  if (strength === 'LCS_FORSHARE') return 'share'
  if (strength === 'LCS_FORNOKEYUPDATE') return 'no key update'
  throw unknown('unknown lock:', node)
}

/** A column without a name, or with the name of an earlier one, gets its position as a suffix. */
function itemsOf(targets: Nodes): Item[] {
  const names = new Set([NAMELESS])
  return targets.map((target, place) => {
    const { name, val } = fieldsOf('ResTarget', target)
    const path = val !== undefined && 'ColumnRef' in val ? (val.ColumnRef.fields ?? []) : []
    if (path.some((part) => 'A_Star' in part)) return { star: true, of: namesIn(path)[0] }
    const expression = expressionOf(val)
    const as = name ?? nameOf(expression)
    if (names.has(as)) return { expression, as: as + place }
    names.add(as)
    return { expression, as }
  })
}

/** The name that PostgreSQL gives to a column without an alias. */
function nameOf(expression: Expression): string {
  if (expression.kind === 'column' || expression.kind === 'call') return expression.name
  return expression.kind === 'cast' ? nameOf(expression.part) : NAMELESS
}

const NAMELESS = '?column?'

function sourcesOf(nodes: Nodes = []): Source[] {
  return nodes.flatMap((node) => {
    if (!('JoinExpr' in node)) return sourceOf(node)
    const { jointype, larg, rarg, quals } = node.JoinExpr
    if (jointype !== 'JOIN_INNER' && jointype !== 'JOIN_LEFT') throw unknown('unknown join:', node)
    const join = jointype === 'JOIN_LEFT' ? 'left' : 'inner'
    return [...sourcesOf(larg && [larg]), { ...sourceOf(rarg), join, on: optional(quals) }]
  })
}

function sourceOf(node: Node | undefined): Source {
  if (node !== undefined && 'RangeVar' in node) {
    return sourceFrom({ kind: 'table', name: tableName(node.RangeVar) }, node.RangeVar.alias)
  }
  if (node !== undefined && 'RangeSubselect' in node) {
    const { subquery, alias } = node.RangeSubselect
    return sourceFrom({ kind: 'query', query: queryOf(subquery) }, alias)
  }
  const { functions = [], alias, coldeflist } = fieldsOf('RangeFunction', node)
  const [call] = listOf(functions[0])
  if (call?.kind !== 'call') throw unknown('expected a call:', node)
  const definitions = coldeflist?.map((column) => {
    const { colname = '', typeName } = fieldsOf('ColumnDef', column)
    return { name: colname, type: typeOf(typeName) }
  })
  return sourceFrom(call, alias, definitions)
}

function sourceFrom(
  from: Source['from'],
  alias: Fields<'RangeVar'>['alias'],
  defined?: readonly ColumnDefinition[],
): Source {
  const as = alias?.aliasname ?? (from.kind === 'query' ? '' : from.name.replace(/^.*\./, ''))
  const named = alias?.colnames && namesIn(alias.colnames)
  const columns = defined ?? named?.map((name) => ({ name, type: undefined }))
  return { join: 'inner', on: undefined, as, columns, from }
}

const tableName = ({ schemaname, relname = '' }: Fields<'RangeVar'>): string =>
  schemaname === undefined ? relname : `${schemaname}.${relname}`

/** What an update and a delete have in common. */
function changeOf(
  { relation = {}, whereClause, returningClause }: Fields<'DeleteStmt'>,
  from: Nodes | undefined,
) {
  return {
    table: tableName(relation),
    as: relation.alias?.aliasname ?? relation.relname ?? '',
    from: sourcesOf(from),
    where: optional(whereClause),
    returning: returningClause && itemsOf(returningClause.exprs ?? []),
  }
}

function insertOf(insert: Fields<'InsertStmt'>): Insert {
  const { relation = {}, cols = [], selectStmt, onConflictClause, returningClause } = insert
  const { valuesLists } = fieldsOf('SelectStmt', selectStmt)
  return {
    kind: 'insert',
    into: tableName(relation),
    columns: cols.map((column) => fieldsOf('ResTarget', column).name ?? ''),
    rows: valuesLists?.map(listOf) ?? queryOf(selectStmt).body,
    conflict: onConflictClause && conflictOf(onConflictClause),
    returning: returningClause && itemsOf(returningClause.exprs ?? []),
  }
}

function conflictOf({
  action,
  infer,
  targetList = [],
  whereClause,
}: NonNullable<Fields<'InsertStmt'>['onConflictClause']>): Insert['conflict'] {
  const columns = infer?.indexElems?.map((one) => fieldsOf('IndexElem', one).name ?? '')
  const set = action === 'ONCONFLICT_UPDATE' ? targetList.map(assignmentOf) : undefined
  return { columns, set, where: optional(whereClause) }
}

function assignmentOf(node: Node): Assignment {
  const { name = '', val } = fieldsOf('ResTarget', node)
  return { column: name, to: expressionOf(val) }
}

const listOf = (node: Node | undefined): Expression[] =>
  (fieldsOf('List', node).items ?? []).flatMap((item) => optional(item) ?? [])

/** The parser writes an empty object for nothing. */
function optional(node: Node | undefined): Expression | undefined {
  return node === undefined || Object.keys(node).length === 0 ? undefined : expressionOf(node)
}

const namesIn = (nodes: Nodes = []): string[] =>
  nodes.flatMap((node) => ('String' in node ? (node.String.sval ?? '') : []))

function expressionOf(node: Node | undefined): Expression {
  if (node === undefined) throw unknown('expected an expression:', node)
  if ('A_Const' in node) return { kind: 'constant', value: constantOf(node.A_Const) }
  if ('ParamRef' in node) return { kind: 'parameter', index: (node.ParamRef.number ?? 0) - 1 }
  if ('ColumnRef' in node) {
    const [name = '', of] = namesIn(node.ColumnRef.fields).toReversed()
    return { kind: 'column', of, name }
  }
  if ('FuncCall' in node) {
    const { funcname, args = [] } = node.FuncCall
    const name = namesIn(funcname).at(-1) ?? ''
    // Timestamps and durations are numbers of seconds.
    return name === 'extract' ? expressionOf(args[1]) : callOf(name, args)
  }
  if ('CoalesceExpr' in node) return callOf('coalesce', node.CoalesceExpr.args)
  if ('MinMaxExpr' in node) {
    const { op, args } = node.MinMaxExpr
    return callOf(op === 'IS_LEAST' ? 'least' : 'greatest', args)
  }
  if ('A_Expr' in node) return operationOf(node.A_Expr)
  if ('BoolExpr' in node) return logicOf(node.BoolExpr)
  if ('NullTest' in node) {
    const { arg, nulltesttype } = node.NullTest
    const test: Expression = { kind: 'is_null', part: expressionOf(arg) }
    return nulltesttype === 'IS_NULL' ? test : not(test)
  }
  if ('SubLink' in node) return sublinkOf(node.SubLink)
  if ('CaseExpr' in node) return caseOf(node.CaseExpr)
  if ('TypeCast' in node) return castOf(node.TypeCast)
  if ('RowExpr' in node) return { kind: 'row', parts: (node.RowExpr.args ?? []).map(expressionOf) }
  const { elements = [] } = fieldsOf('A_ArrayExpr', node)
  return { kind: 'array', parts: elements.map(expressionOf) }
}

const not = (part: Expression): Expression => ({ kind: 'not', part })

const callOf = (name: string, args: Nodes = []): Expression => ({
  kind: 'call',
  name,
  parts: args.map(expressionOf),
})

function constantOf({ ival, fval, sval, boolval, isnull }: Fields<'A_Const'>) {
  if (isnull === true) return null
  if (boolval !== undefined) return boolval.boolval ?? false
  if (fval !== undefined) return Number(fval.fval)
  return ival === undefined ? (sval?.sval ?? '') : (ival.ival ?? 0)
}

function logicOf({ boolop, args = [] }: Fields<'BoolExpr'>): Expression {
  const [first, ...others] = args.map(expressionOf) as [Expression, ...Expression[]]
  if (boolop === 'NOT_EXPR') return not(first)
  return others.reduce(
    (left, right) => operate(boolop === 'AND_EXPR' ? 'and' : 'or', left, right),
    first,
  )
}

const operate = (operator: string, left: Expression, right: Expression): Expression => ({
  kind: 'operation',
  operator,
  left,
  right,
})

function operationOf({ kind, name, lexpr, rexpr }: Fields<'A_Expr'>): Expression {
  const [operator = ''] = namesIn(name)
  const left = expressionOf(lexpr)
  switch (`${kind} ${operator}`) {
    case 'AEXPR_DISTINCT =':
      return { kind: 'is_distinct', left, right: expressionOf(rexpr) }
    case 'AEXPR_NOT_DISTINCT =':
      return not({ kind: 'is_distinct', left, right: expressionOf(rexpr) })
    case 'AEXPR_IN =':
      return { kind: 'in_list', part: left, list: listOf(rexpr) }
    case 'AEXPR_IN <>':
      return not({ kind: 'in_list', part: left, list: listOf(rexpr) })
    case 'AEXPR_OP_ANY =':
      return { kind: 'is_any', left, array: expressionOf(rexpr) }
    case 'AEXPR_OP_ALL <>':
      return not({ kind: 'is_any', left, array: expressionOf(rexpr) })
    case 'AEXPR_BETWEEN BETWEEN': {
      const [low, high] = listOf(rexpr) as [Expression, Expression]
      return operate('and', operate('>=', left, low), operate('<=', left, high))
    }
  }
  if (kind !== 'AEXPR_OP') throw unknown('unknown operation:', { kind, operator })
  return operate(operator, left, expressionOf(rexpr))
}

function sublinkOf({ subLinkType, testexpr, subselect }: Fields<'SubLink'>): Expression {
  const query = queryOf(subselect)
  if (subLinkType === 'EXISTS_SUBLINK') return { kind: 'exists', query }
  if (subLinkType === 'EXPR_SUBLINK') return { kind: 'scalar', query }
  if (subLinkType !== 'ANY_SUBLINK') throw unknown('unknown query:', subLinkType)
  return { kind: 'in_query', part: expressionOf(testexpr), query }
}

function caseOf({ arg, args = [], defresult }: Fields<'CaseExpr'>): Expression {
  const branches = args.map((branch) => {
    const { expr, result } = fieldsOf('CaseWhen', branch)
    return { when: expressionOf(expr), value: expressionOf(result) }
  })
  return { kind: 'case', subject: optional(arg), branches, otherwise: optional(defresult) }
}

const SECONDS: Readonly<Record<string, number>> = { millisecond: 0.001, second: 1, day: 86_400 }

/** An interval is a number of seconds. */
function castOf({ arg, typeName }: Fields<'TypeCast'>): Expression {
  const part = expressionOf(arg)
  const to = typeOf(typeName)
  if (to !== 'interval') return { kind: 'cast', part, to }
  const [count, unit = 'second'] = part.kind === 'constant' ? words(toText(part.value)) : []
  const seconds = SECONDS[unit.replace(/s$/, '')]
  if (seconds === undefined) throw unknown('unknown interval:', arg)
  return { kind: 'constant', value: Number(count) * seconds }
}

/** The name of a type, with the suffix `[]` for arrays. */
const typeOf = ({ names, arrayBounds }: Fields<'TypeCast'>['typeName'] = {}): string =>
  `${namesIn(names).at(-1)}${arrayBounds === undefined ? '' : '[]'}`
