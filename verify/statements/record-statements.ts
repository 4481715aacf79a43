// Calls a function of src/db with an `sql` that records the statements instead of sending them.
import { setImmediate as turn } from 'node:timers/promises'
import type { Sql, Store, Transaction } from '../../src/db/connection/client.ts'
import { Name, renderStatement, Template } from './statement-text.ts'

/** The rows of one answer. */
export type Answer = readonly Readonly<Record<string, unknown>>[]

/** An `sql` for each parameter type of src/db. */
export type RecordingSql = Sql & Transaction

/** Calls a function with the recording `sql`, or with a store that has it. */
export type Send = (sql: RecordingSql, store: Store) => unknown

/**
 * The different statements of a call as PostgreSQL gets them, in the order in which it sends them.
 *
 * @param answers rows for the statements in that order; no rows by default.
 * @throws what the function throws.
 */
export async function recordStatements(
  send: Send,
  answers: readonly Answer[] = [],
): Promise<string[]> {
  const recorded = new Set<string>()
  const remaining = [...answers]
  const answer = (statement: string) => {
    recorded.add(statement)
    const rows = [...(remaining.shift() ?? [])]
    return Promise.resolve(Object.assign(rows, { count: rows.length }))
  }
  const execute = (template: Template) => answer(renderStatement(template).text)
  const tag = (strings: TemplateStringsArray | string, ...values: unknown[]) =>
    typeof strings === 'string' ? new Name(strings) : new Template(strings, values, execute)
  const sql = Object.assign(tag, {
    unsafe: answer,
    async begin(work: (tx: unknown) => Promise<unknown>) {
      recorded.add('begin')
      const result = await work(sql)
      recorded.add('commit')
      return result
    },
  }) as unknown as RecordingSql
  const result = await send(sql, { sql } as unknown as Store)
  if (isIterable(result)) for await (const _ of result);
  // Notifications leave after a turn of the event loop.
  await turn()
  return [...recorded]
}

function isIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}
