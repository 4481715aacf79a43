// Calls a function of src/db with an `sql` that records the statements instead of sending them.
import { setImmediate as turn } from 'node:timers/promises'
import type { Sql, Store, Transaction } from '../../src/db/connection/client.ts'
import { built, isTemplate, renderStatement, Template } from './statement-text.ts'

/** The rows of one answer. */
export type Answer = readonly Readonly<Record<string, unknown>>[]

/** An `sql` for each parameter type of src/db. */
export type RecordingSql = Sql & Transaction

/** Calls a function with the recording `sql`, or with a store that has it. */
export type Send = (sql: RecordingSql, store: Store) => unknown

/**
 * The different statements of a call as PostgreSQL gets them, in the order in which it sends them.
 *
 * @param answers rows for the statements in that order, except settings; no rows by default.
 * @throws what the function throws.
 */
export async function recordStatements(
  send: Send,
  answers: readonly Answer[] = [],
): Promise<string[]> {
  return (await record(send, answers)).statements
}

/** Those that are sent before the first rows arrive. */
export async function recordFirst(send: Send, answers: readonly Answer[] = []): Promise<string[]> {
  const { statements, first } = await record(send, answers)
  return statements.slice(0, first)
}

/** It has no rows. */
const SETTING = /^set /

async function record(send: Send, answers: readonly Answer[]) {
  const recorded = new Set<string>()
  let first: number | undefined
  const remaining = [...answers]
  const answer = async (statement: string) => {
    recorded.add(statement)
    const isSetting = SETTING.test(statement)
    const rows = isSetting ? [] : [...(remaining.shift() ?? [])]
    // The other statements that leave together are sent before.
    await turn()
    if (!isSetting) first ??= recorded.size
    const columns = Object.keys(rows[0] ?? {}).map((name) => ({ name }))
    return Object.assign(rows, { count: rows.length, columns })
  }
  const execute = (template: Template) => answer(renderStatement(template).text)
  const tag = (strings: TemplateStringsArray | Parameters<typeof built>[0], ...values: unknown[]) =>
    isTemplate(strings) ? new Template(strings, values, execute) : built(strings)
  const unsafe = (text: string) => new Template([text], [], execute)
  const tx = Object.assign(tag.bind(undefined), { unsafe })
  const sql = Object.assign(tag, {
    unsafe,
    async begin(work: (own: unknown) => Promise<unknown>) {
      recorded.add('begin')
      const result = await work(tx)
      recorded.add('commit')
      return result
    },
  }) as unknown as RecordingSql
  const result = await send(sql, { sql } as unknown as Store)
  if (isIterable(result)) for await (const _ of result);
  // Notifications leave after a turn of the event loop.
  await turn()
  return { statements: [...recorded], first: first ?? recorded.size }
}

function isIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}
