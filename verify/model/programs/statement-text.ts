// Turns the `sql` templates of the product into the statements of the model.
import { renderStatement, type Template } from '../../statements/statement-text.ts'
import type { Value } from '../store/rows.ts'

/** The statement on one line, and the values of its parameters as the model stores them. */
export function statementOf(template: Template): { text: string; parameters: Value[] } {
  const { text, parameters } = renderStatement(template)
  const line = text
    .replaceAll(/--[^\n]*/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
  return { text: line, parameters: parameters.map(plain) }
}

function plain(value: unknown): Value {
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString('hex')}`
  if (value instanceof Date) return value.toISOString()
  if (value === undefined) throw new Error('a parameter is undefined')
  return value as Value
}
