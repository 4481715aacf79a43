// Names the tenant of a statement at each use of a distributed table. Row-level security implies the
// condition. Citus does not see that, and would ask the nodes of all tenants.
import type { Known } from './scope.ts'
import { TENANT } from './statement.ts'
import {
  aliasOf,
  allOf,
  as,
  column,
  ONE,
  parameter,
  replace,
  type Body,
  type Node,
} from './syntax.ts'

type Query = Body<'SelectStmt'> & Body<'UpdateStmt'> & Body<'DeleteStmt'>

const QUERIES = ['SelectStmt', 'UpdateStmt', 'DeleteStmt'] as const

/**
 * Adds the condition. A list of columns gets one if it has none: Citus needs it.
 *
 * @param hasTenant whether the statement sees a single tenant. Otherwise only lists are changed.
 */
export function withTenant(tree: Node, known: Known, hasTenant: boolean): Node {
  const inQuery = (query: Query): Query => {
    const { larg, rarg, ...rest } = query
    const inner = mapValues(rest, inTree) as Query
    const whereClause = allOf(inner.whereClause, ...(hasTenant ? conditionsOf(inner, known) : []))
    return {
      ...inner,
      ...(whereClause && { whereClause }),
      ...(isWithoutColumns(query) && { targetList: [ONE] }),
      ...(larg && { larg: inQuery(larg) }),
      ...(rarg && { rarg: inQuery(rarg) }),
    }
  }
  const inTree = <T>(part: T): T =>
    replace(part, (node) => {
      const kind = QUERIES.find((name) => name in node)
      if (kind === undefined) return leftJoin(node)
      return { [kind]: inQuery(as(node, kind) as Query) }
    })
  const leftJoin = (node: object): Node | undefined => {
    const join = as(node, 'JoinExpr')
    const { relname } = as(join?.rarg, 'RangeVar') ?? {}
    if (!hasTenant || join?.jointype !== 'JOIN_LEFT' || !join.rarg || relname === undefined) return
    if (!hasTenants(relname, known)) return
    const quals = allOf(join.quals, tenantOf(aliasOf(join.rarg)))
    return { JoinExpr: { ...mapValues(join, inTree), ...(quals && { quals }) } }
  }
  return inTree(tree)
}

function mapValues<T extends object>(body: T, map: <V>(value: V) => V): T {
  return Object.fromEntries(Object.entries(body).map(([key, value]) => [key, map(value)])) as T
}

const isWithoutColumns = (query: Query): boolean =>
  query.op === 'SETOP_NONE' && query.targetList === undefined && query.valuesLists === undefined

/** For the tables that a query reads or changes. */
function conditionsOf(query: Query, known: Known): Node[] {
  const { relation, fromClause = [], usingClause = [] } = query
  const changed: Node[] = relation === undefined ? [] : [{ RangeVar: relation }]
  return [...fromClause, ...usingClause, ...changed].flatMap((item) => conditionsOn(item, known))
}

function conditionsOn(item: Node, known: Known): Node[] {
  const { relname } = as(item, 'RangeVar') ?? {}
  if (relname !== undefined) return hasTenants(relname, known) ? [tenantOf(aliasOf(item))] : []
  const { jointype, larg, rarg } = as(item, 'JoinExpr') ?? {}
  const isLeft = jointype === 'JOIN_LEFT'
  const sides = isLeft ? [larg] : jointype === 'JOIN_INNER' ? [larg, rarg] : []
  return sides.flatMap((side) => (side === undefined ? [] : conditionsOn(side, known)))
}

/** Not the table of the tenants itself: each node has it. */
const hasTenants = (name: string, known: Known): boolean =>
  known.isDistributed(name) && known.columnsOf(name).includes('tenant_id')

const tenantOf = (alias: string): Node => ({
  A_Expr: {
    kind: 'AEXPR_OP',
    name: [{ String: { sval: '=' } }],
    lexpr: column(alias, 'tenant_id'),
    rexpr: parameter(TENANT, 'uuid'),
  },
})
