// Templates that are executed when they are awaited, on a connection that is chosen then.
import type { Sql, TransactionSql as Transaction } from 'postgres'

/** The text of a statement with its values, which may be templates themselves: its parts. */
export interface Template {
  readonly strings: TemplateStringsArray
  readonly values: readonly unknown[]
}

/** A text without parameters. */
export function templateOf(text: string): Template {
  return { strings: Object.assign([text], { raw: [text] }), values: [] }
}

/** A tagged template. It is executed when it is awaited, or becomes a part of another template. */
export class Statement {
  readonly template: Template
  readonly #run: (template: Template) => Promise<unknown>
  #result: Promise<unknown> | undefined

  constructor(template: Template, run: (template: Template) => Promise<unknown>) {
    this.template = template
    this.#run = run
  }

  // oxlint-disable-next-line unicorn/no-thenable -- so are the driver's own.
  then(...handlers: Parameters<Promise<unknown>['then']>): Promise<unknown> {
    return this.#started.then(...handlers)
  }

  catch(handler: (error: unknown) => unknown): Promise<unknown> {
    return this.#started.catch(handler)
  }

  finally(handler: () => void): Promise<unknown> {
    return this.#started.finally(handler)
  }

  get #started(): Promise<unknown> {
    return (this.#result ??= this.#run(this.template))
  }
}

/**
 * Makes a tag of templates. A call without a template builds an identifier or a list of values: the client
 * does that itself.
 */
export function tagged(client: Sql | Transaction, use: (template: Template) => unknown) {
  const tag = (strings: TemplateStringsArray, ...values: never[]): unknown =>
    Array.isArray(strings.raw) ? use({ strings, values }) : (client as Sql)(strings, ...values)
  return Object.assign(tag, { unsafe: (...text: [string]) => client.unsafe(...text) })
}

/** Builds the statement of a template with a client, which executes it when it is awaited. */
export function build(client: Sql | Transaction, { strings, values }: Template) {
  const resolved = values.map((value) => resolve(client, value))
  return (client as Sql)(strings, ...(resolved as never[]))
}

/** Builds a part, or a list of parts, with the client; other values pass unchanged. */
function resolve(client: Sql | Transaction, value: unknown): unknown {
  if (value instanceof Statement) return build(client, value.template)
  const isList = Array.isArray(value) && value[0] instanceof Statement
  return isList ? value.map((part) => resolve(client, part)) : value
}
