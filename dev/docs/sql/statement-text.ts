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

/** Joins the text before a fragment, the fragment, and the text of its template after it. */
type JoinFragment = (before: string, fragment: string, after: string) => string

/** How fragments are joined with the text around them. The separator precedes each of a list. */
export interface Joining {
  readonly join: JoinFragment
  readonly separator: string
}

/** As the driver joins them. */
const UNCHANGED: Joining = {
  join: (before, fragment, after) => before + fragment + after,
  separator: ' ',
}

/** The statement with numbered placeholders, and the values of its parameters. */
export function renderStatement(
  template: Template,
  { join, separator }: Joining = UNCHANGED,
): { text: string; parameters: unknown[] } {
  const parameters: unknown[] = []
  const textOf = ({ strings: [first = '', ...others], values }: Template): string =>
    others.reduce((before, after, index) => insert(before, values[index], after), first)
  const insert = (before: string, value: unknown, after: string): string => {
    if (value instanceof Template) return join(before, textOf(value), after)
    if (value instanceof Name) return `${before}"${value.text}"${after}`
    if (isTemplates(value)) {
      return join(before, value.map((part) => separator + textOf(part)).join(''), after)
    }
    return `${before}$${parameters.push(value)}${after}`
  }
  return { text: textOf(template), parameters }
}

function isTemplates(value: unknown): value is readonly Template[] {
  return Array.isArray(value) && value[0] instanceof Template
}
