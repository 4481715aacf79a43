// Calls a function of src with an `sql` that records the statements instead of sending them.
import { setImmediate as turn } from 'node:timers/promises'
import type { Sql, Store, Transaction } from '../../src/db/connection/client.ts'

/** An `sql` template: a statement when it is awaited, otherwise a fragment of another template. */
export class Template {
  readonly strings: readonly string[]
  readonly values: readonly unknown[]
  readonly #execute: (template: Template) => Promise<unknown>
  #executed: Promise<unknown> | undefined

  constructor(
    strings: readonly string[],
    values: readonly unknown[],
    execute: (template: Template) => Promise<unknown>,
  ) {
    this.strings = strings
    this.values = values
    this.#execute = execute
  }

  // oxlint-disable-next-line unicorn/no-thenable -- so are the driver's own.
  then(...handlers: Parameters<Promise<unknown>['then']>): Promise<unknown> {
    this.#executed ??= this.#execute(this)
    return this.#executed.then(...handlers)
  }

  catch(handler: (error: unknown) => unknown): Promise<unknown> {
    return this.then(undefined, handler)
  }
}

/** An identifier that is inserted into the statement. */
class Name {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** The rows of an insert. */
class Rows {
  readonly rows: readonly Readonly<Record<string, unknown>>[]

  constructor(rows: readonly Readonly<Record<string, unknown>>[]) {
    this.rows = rows
  }
}

/** The columns that an update sets. */
class Columns {
  readonly values: Readonly<Record<string, unknown>>

  constructor(values: Readonly<Record<string, unknown>>) {
    this.values = values
  }
}

/** What a call without a template builds: an identifier, the rows of an insert, or the columns of an update. */
export function built(value: string | Rows['rows'] | Columns['values']): Name | Rows | Columns {
  if (typeof value === 'string') return new Name(value)
  return isRows(value) ? new Rows(value) : new Columns(value)
}

const isRows = (value: Rows['rows'] | Columns['values']): value is Rows['rows'] =>
  Array.isArray(value)

/** Whether a call of `sql` has a template. */
export const isTemplate = (value: unknown): value is TemplateStringsArray =>
  Array.isArray(value) && 'raw' in value

/** The statement with numbered placeholders, and the values of its parameters. */
export function renderStatement(template: Template): { text: string; parameters: unknown[] } {
  const parameters: unknown[] = []
  const textOf = ({ strings: [first = '', ...others], values }: Template): string =>
    others.reduce((before, after, index) => before + textOfValue(values[index]) + after, first)
  const textOfValue = (value: unknown): string => {
    if (value instanceof Template) return textOf(value)
    if (value instanceof Name) return `"${value.text.replaceAll('.', '"."')}"`
    if (value instanceof Rows) return textOfRows(value)
    if (value instanceof Columns) return textOfColumns(value)
    if (isTemplates(value)) return value.map((part) => ` ${textOf(part)}`).join('')
    return `$${parameters.push(value)}`
  }
  const textOfRows = ({ rows }: Rows): string => {
    const columns = Object.keys(rows[0] ?? {}).map((name) => `"${name}"`)
    const values = rows.map((row) => `(${Object.values(row).map(textOfValue).join(',')})`)
    return `(${columns.join(',')})values${values.join(',')}`
  }
  const textOfColumns = ({ values }: Columns): string =>
    Object.entries(values)
      .map(([name, value]) => `"${name}"=${textOfValue(value)}`)
      .join(',')
  return { text: textOf(template), parameters }
}

function isTemplates(value: unknown): value is readonly Template[] {
  return Array.isArray(value) && value[0] instanceof Template
}

/** The rows of one answer. */
export type Answer = readonly Readonly<Record<string, unknown>>[]

/** An `sql` for each parameter type of these functions. */
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
