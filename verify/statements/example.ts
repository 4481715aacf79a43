// A call of a function of src/db, which sends the function's statements.
import { subscriber, writtenEvent } from './example-values.ts'
import type { Answer, RecordingSql, Send } from './record-statements.ts'

/** A row was written. */
export const WRITTEN = [[{}]]

/** An event was written, which an endpoint gets. */
export const WITH_DELIVERY = [[writtenEvent], [subscriber]]

export interface Example {
  /** The function's name. */
  readonly name: string
  readonly send: Send
  /** Rows that make the function send all its statements; see `recordStatements`. */
  readonly answers: readonly Answer[]
}

/**
 * @param sender the function that sends the statements.
 * @param call its arguments behind the connection; or how it is called, if another function returns it.
 */
export function example<Arguments extends readonly unknown[]>(
  sender: (sql: RecordingSql, ...rest: Arguments) => unknown,
  call: NoInfer<Arguments>,
  answers?: readonly Answer[],
): Example
export function example(sender: Named, call: Send, answers?: readonly Answer[]): Example
export function example(
  sender: Named,
  call: readonly unknown[] | Send,
  answers: readonly Answer[] = [],
): Example {
  const caller = sender as unknown as (...all: unknown[]) => unknown
  const send: Send = typeof call === 'function' ? call : (sql) => caller(sql, ...call)
  return { name: sender.name, send, answers }
}

interface Named {
  readonly name: string
}
