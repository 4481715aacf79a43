// A call of a function of src/db, which sends the function's statements.
import type { Answer, Send } from './record-statements.ts'

export const LATER_PAGE = 'A page after a cursor, and the check that the cursor is in the list.'
export const FILTERED = `With every filter. ${LATER_PAGE}`
/** A row was written. */
export const WRITTEN = [[{}]]

export interface Example {
  /** The function's name. */
  readonly name: string
  readonly send: Send
  /** Rows that make the function send all its statements; see `recordStatements`. */
  readonly answers?: readonly Answer[]
  /** Which variant of the statement this is. Without one, the statement has a single form. */
  readonly variant?: string
}

/** @param sender the function that `send` calls, directly or through a function that it returns. */
export function example(
  sender: { readonly name: string },
  send: Send,
  more: Omit<Example, 'name' | 'send'> = {},
): Example {
  return { name: sender.name, send, ...more }
}
