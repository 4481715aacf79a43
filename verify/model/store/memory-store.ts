// The in-memory store: executes the product's own SQL on the committed rows, concurrently with
// other transactions.
import { parseStatement } from '../sql/parse-statement.ts'
import type { Statement } from '../sql/syntax.ts'
import { rowsWith, type Database, type Work } from './database.ts'
import { Execution, type Result } from './execution.ts'
import type { View } from './row-changes.ts'
import type { Row, Value } from './rows.ts'
import { keyOfRow, referredKey, tableNamed, type Reference, type Schema } from './schema.ts'
import {
  Blocked,
  errorResultOf,
  FOREIGN_KEY_VIOLATION,
  violationOf,
  type ErrorResult,
} from './store-errors.ts'

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
