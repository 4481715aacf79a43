// The in-memory store: executes the product's own SQL on the committed rows, concurrently with
// other transactions.
import { parseStatement } from '../sql/parse-statement.ts'
import type { Query } from '../sql/syntax.ts'
import { rowsWith, type Database, type Work } from './database.ts'
import { Execution, type Result } from './execution.ts'
import type { View } from './row-changes.ts'
import type { Row, Value } from './rows.ts'
import { keyOfRow, type Schema } from './schema.ts'
import { Blocked, constraintOf } from './store-errors.ts'

/** The result of a statement, and the work that it adds to its transaction. */
export type ExecutionResult =
  | { readonly kind: 'result'; readonly result: Result; readonly work: Work }
  | { readonly kind: 'blocked'; readonly blockedBy: number; readonly work: Work }
  | {
      readonly kind: 'error'
      readonly code: string
      readonly message: string
      readonly constraint: string | undefined
    }

const parsedStatements = new Map<string, Query>()

function parse(text: string): Query {
  const cached = parsedStatements.get(text)
  if (cached !== undefined) return cached
  const query = parseStatement(text)
  parsedStatements.set(text, query)
  return query
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
  const query = parse(text)
  try {
    const result = execution.run(query)
    return { kind: 'result', result, work: execution.changes.work }
  } catch (error) {
    if (error instanceof Blocked) {
      const work = execution.changes.workWhileWaiting(tablesChangedBy(query))
      return { kind: 'blocked', blockedBy: error.blockedBy, work }
    }
    if (error instanceof Error && 'code' in error && typeof error.code === 'string') {
      const { code, message } = error
      return { kind: 'error', code, message, constraint: constraintOf(error) }
    }
    throw error
  }
}

/** The tables that a statement updates or deletes from. */
function tablesChangedBy({ ctes, body }: Query): ReadonlySet<string> {
  const bodies = [...ctes.map(({ query }) => query.body), body]
  return new Set(bodies.flatMap((own) => ('table' in own ? [own.table] : [])))
}

/** The committed rows after a transaction. */
export function commit(schema: Schema, database: Database, { changes }: Work): Database {
  if (changes.length === 0) return database
  const after: Record<string, readonly Row[]> = { ...database }
  for (const [name, own] of Map.groupBy(changes, ({ table }) => table)) {
    const table = schema.get(name)
    if (table === undefined) throw new Error(`unknown table ${name}`)
    after[name] = rowsWith(database[name] ?? [], (row) => keyOfRow(table, row), own)
  }
  return after
}
