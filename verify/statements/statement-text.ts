// Renders an `sql` template as the text of a statement with numbered parameters, as the driver does.

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

/** The rows of an insert. */
export class Rows {
  readonly rows: readonly Readonly<Record<string, unknown>>[]

  constructor(rows: readonly Readonly<Record<string, unknown>>[]) {
    this.rows = rows
  }
}

/** The columns that an update sets. */
export class Columns {
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
