// Calls a function of src/db with an `sql` that records the statements instead of sending them.
import { setImmediate as turn } from 'node:timers/promises'
import type { Sql, Store, Transaction } from '../../../src/db/connection/client.ts'
import { layOutStatement, tidy } from './layout.ts'
import { Name, renderStatement, Template } from './statement-text.ts'

/** A statement as the page shows it, and as PostgreSQL gets it. */
export interface RecordedStatement {
  readonly shown: string
  readonly sent: string
}

/** The rows of one answer. */
export type Answer = readonly Readonly<Record<string, unknown>>[]

/** An `sql` for each parameter type of src/db. */
export type RecordingSql = Sql & Transaction

/** Calls a function with the recording `sql`, or with a store that has it. */
export type Send = (sql: RecordingSql, store: Store) => unknown

/**
 * The different statements of a call, in the order in which it sends them.
 *
 * @param answers rows for the statements in that order; no rows by default.
 * @throws what the function throws.
 */
export async function recordStatements(
  send: Send,
  answers: readonly Answer[] = [],
): Promise<RecordedStatement[]> {
  const recorded = new Map<string, RecordedStatement>()
  const remaining = [...answers]
  const record = (statement: RecordedStatement) => {
    if (!recorded.has(statement.sent)) recorded.set(statement.sent, statement)
  }
  const answer = (statement: RecordedStatement) => {
    record(statement)
    const rows = [...(remaining.shift() ?? [])]
    return Promise.resolve(Object.assign(rows, { count: rows.length }))
  }
  const execute = (template: Template) =>
    answer({ shown: layOutStatement(template), sent: renderStatement(template).text })
  const tag = (strings: TemplateStringsArray | string, ...values: unknown[]) =>
    typeof strings === 'string' ? new Name(strings) : new Template(strings, values, execute)
  const sql = Object.assign(tag, {
    unsafe: (text: string) => answer({ shown: tidy(text), sent: text }),
    async begin(work: (tx: unknown) => Promise<unknown>) {
      record({ shown: 'begin', sent: 'begin' })
      const result = await work(sql)
      record({ shown: 'commit', sent: 'commit' })
      return result
    },
  }) as unknown as RecordingSql
  const result = await send(sql, { sql } as unknown as Store)
  if (isIterable(result)) for await (const _ of result);
  // Notifications leave after a turn of the event loop.
  await turn()
  return [...recorded.values()]
}

function isIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}
