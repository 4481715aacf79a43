// A call of a function of src/db, which sends the function's statements.
import { subscriber, writtenEvent } from './example-values.ts'
import type { Answer, Send } from './record-statements.ts'

/** A row was written. */
export const WRITTEN = [[{}]]

/** An event was written, which an endpoint gets. */
export const WITH_DELIVERY = [[writtenEvent], [subscriber]]

export interface Example {
  /** The function's name. */
  readonly name: string
  readonly send: Send
  /** Rows that make the function send all its statements; see `recordStatements`. */
  readonly answers?: readonly Answer[]
}

/** @param sender the function that `send` calls, directly or through a function that it returns. */
export function example(
  sender: { readonly name: string },
  send: Send,
  more: Omit<Example, 'name' | 'send'> = {},
): Example {
  return { name: sender.name, send, ...more }
}
