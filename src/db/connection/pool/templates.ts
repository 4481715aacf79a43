// Templates of a pool: they are executed when they are awaited, on a connection that the pool chooses
// then.
import type { Sql, TransactionSql as Transaction } from 'postgres'
import { executeText, type StatementText } from '../../distributed/execute-text.ts'
import type { Tables } from '../../distributed/tables.ts'
import { tenantsOfTransaction } from '../transaction.ts'

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
 * Runs the work of a transaction, whose statements accept templates of the pool as parts.
 *
 * @throws an error for a statement that is sent when the work has ended, or `begin` has failed: it would
 *   belong to no transaction.
 */
export async function runWork<Result>(
  { own, begun }: { readonly own: Transaction; readonly begun: Promise<unknown> },
  tables: Tables | undefined,
  work: (tx: Transaction) => Promise<Result>,
): Promise<Result> {
  let isOver = false
  begun.catch(() => (isOver = true))
  const run =
    tables === undefined
      ? (template: Template) => build(own as never, template)
      : (template: Template) =>
          new Statement(template, (sent) =>
            executeText(own, textOf(sent), tables, tenantsOfTransaction(tx)),
          )
  const tx: Transaction = tagged(own, (template) => {
    if (isOver) throw new Error('a statement without its transaction')
    return run(template)
  }) as never
  try {
    // Citus passes the tenants of the transaction on to the other nodes.
    if (tables !== undefined) await own.unsafe(`set local citus.propagate_set_commands = 'local'`)
    return await work(tx)
  } finally {
    isOver = true
  }
}

/**
 * A call without a template builds an identifier or a list of values: the client does that itself.
 */
export function tagged<Client extends Sql | Transaction>(
  client: Client,
  use: (template: Template) => unknown,
) {
  const tag = (strings: TemplateStringsArray, ...values: never[]): unknown =>
    Array.isArray(strings.raw) ? use({ strings, values }) : client(strings, ...values)
  return Object.assign(tag, client)
}

/** Executes a template. With distributed tables, its parts are one transaction. */
export async function execute(
  client: Sql,
  template: Template,
  tables: Tables | undefined,
): Promise<unknown> {
  if (tables === undefined) return await build(client, template)
  return await executeText(client, textOf(template), tables)
}

/** Builds the statement of a template with a client, which executes it when it is awaited. */
function build(client: Sql, { strings, values }: Template) {
  const resolved = values.map((value) => resolve(client, value))
  return client(strings, ...(resolved as never[]))
}

/** Builds a part, or a list of parts, with the client; other values pass unchanged. */
function resolve(client: Sql, value: unknown): unknown {
  if (value instanceof Statement) return build(client, value.template)
  const isList = Array.isArray(value) && value[0] instanceof Statement
  return isList ? value.map((part) => resolve(client, part)) : value
}

/** The text of a template with its parts, and the values of its parameters. */
function textOf(template: Template): StatementText {
  const parameters: unknown[] = []
  const write = (before: string, { strings: [first = '', ...others], values }: Template): string =>
    others.reduce((text, next, index) => insert(text, values[index]) + next, before + first)
  const insert = (text: string, value: unknown): string => {
    if (value instanceof Statement) return write(text, value.template)
    if (Array.isArray(value) && value[0] instanceof Statement) return value.reduce(insert, text)
    if (isBuilt(value)) {
      return (
        text + ('build' in value ? value.build(text, parameters, [], NO_TRANSFORMS) : value.value)
      )
    }
    return `${text}$${parameters.push(value)}`
  }
  return { text: write('', template), parameters }
}

/** No name or value is changed. */
const NO_TRANSFORMS = { transform: { column: {}, undefined: undefined } }

/** What the driver builds from a call with a name, or with a list of values. */
type Built =
  | { readonly value: string }
  | { build(text: string, parameters: unknown[], types: unknown[], options: object): string }

const isBuilt = (value: unknown): value is Built =>
  value?.constructor.name === 'Identifier' || value?.constructor.name === 'Builder'
