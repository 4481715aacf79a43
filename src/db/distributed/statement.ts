// Reads a statement: its common table expressions, its main query, and which tenants it sees. What
// every part has to know is a parameter: the time, and the tenant.
import { loadParser } from './parser.ts'
import { as, calledFunction, parameter, replace, some, TRUE, type Node } from './syntax.ts'

/** A common table expression. */
interface NamedQuery {
  readonly name: string
  /** Names for its first columns, in place of their own. */
  readonly columns: readonly string[]
  readonly query: Node
}

export interface Queries {
  readonly named: readonly NamedQuery[]
  readonly main: Node
}

export interface ReadStatement {
  /** The parameter with the tenants that the statement sees: see `seesTenant`. */
  readonly tenants: number | undefined
  /** Its queries for a single tenant, and for any number: what is derived from them differs. */
  readonly ofOne: Queries
  readonly ofMany: Queries
}

/** Numbers of parameters that no statement has itself. */
export const NOW = 100_000
export const TENANT = 100_001
/** The first one of the values of a row. */
export const VALUES = 100_002

const read = new Map<string, Promise<ReadStatement>>()

/** Reads a statement, each text once: a process has a limited number of them. */
export function readStatement(text: string): Promise<ReadStatement> {
  const known = read.get(text) ?? readTree(text)
  read.set(text, known)
  return known
}

async function readTree(text: string): Promise<ReadStatement> {
  const { stmts: [first, ...others] = [] } = await loadParser().parse(text)
  if (first?.stmt === undefined || others.length > 0) {
    throw new Error(`This is not one statement: ${text}`)
  }
  const tenants = findTenants(first.stmt)
  const whole = replace(first.stmt, (part) => {
    if (isTenants(part)) return TRUE
    return calledFunction(part) === 'now' ? parameter(NOW, 'timestamptz') : undefined
  })
  const ofOne = withoutNamed(whole)
  return { tenants, ofOne, ofMany: structuredClone(ofOne) }
}

function withoutNamed(whole: Node): Queries {
  const [[kind, body] = ['', {}]] = Object.entries(whole)
  const { withClause, ...rest } = body as { withClause?: { ctes?: Node[] } }
  const named = (withClause?.ctes ?? []).flatMap((node) => {
    const query = as(node, 'CommonTableExpr')
    if (query?.ctename === undefined || query.ctequery === undefined) return []
    const columns = (query.aliascolnames ?? []).map((name) => as(name, 'String')?.sval ?? '')
    return [{ name: query.ctename, columns, query: query.ctequery }]
  })
  return { main: { [kind]: rest } as unknown as Node, named }
}

/** `(select set_config(...)) is not null`: see src/db/connection/row-security.ts. */
function isTenants(part: object): boolean {
  const test = as(part, 'NullTest')
  return test !== undefined && some(test, (inner) => calledFunction(inner) === 'set_config')
}

function findTenants(tree: Node): number | undefined {
  let found: number | undefined
  some(tree, (part) => {
    if (calledFunction(part) !== 'set_config') return false
    found = as(as(part, 'FuncCall')?.args?.[1], 'ParamRef')?.number
    return true
  })
  return found
}

/** The names of the tables that the queries change. */
export function changedTables({ named, main }: Queries): string[] {
  return [...named.map(({ query }) => query), main].flatMap((query) => {
    const change =
      as(query, 'InsertStmt') ?? as(query, 'UpdateStmt') ?? as(query, 'DeleteStmt') ?? {}
    return change.relation?.relname ?? []
  })
}
