// Builds the text of a statement from the `sql` templates of the product.
import type { Value } from '../store/rows.ts'

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
export class Name {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** The statement with numbered placeholders, and the values of its parameters. */
export function statementOf(template: Template): { text: string; parameters: Value[] } {
  const parameters: Value[] = []
  const textOf = ({ strings, values }: Template): string =>
    strings.map((text, index) => text + (index < values.length ? put(values[index]) : '')).join('')
  const put = (value: unknown): string => {
    if (value instanceof Template) return textOf(value)
    if (value instanceof Name) return `"${value.text}"`
    if (Array.isArray(value) && value[0] instanceof Template) {
      return value.map((part) => textOf(part as Template)).join(' ')
    }
    return `$${parameters.push(plain(value))}`
  }
  const text = textOf(template)
    .replaceAll(/--[^\n]*/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
  return { text, parameters }
}

function plain(value: unknown): Value {
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString('hex')}`
  if (value instanceof Date) return value.toISOString()
  if (value === undefined) throw new Error('a parameter is undefined')
  return value as Value
}
