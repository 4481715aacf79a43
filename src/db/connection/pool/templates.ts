// Templates of a pool: they are executed when they are awaited, on a connection that the pool chooses
// then.
import type { Sql, TransactionSql as Transaction } from 'postgres'

export type Build = (client: Sql) => Promise<unknown>

/** A tagged template. It is executed when it is awaited, or becomes a part of another template. */
export class Statement {
  readonly buildFor: Build
  readonly #run: (buildFor: Build) => Promise<unknown>
  #result: Promise<unknown> | undefined

  constructor(buildFor: Build, run: (buildFor: Build) => Promise<unknown>) {
    this.buildFor = buildFor
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
    return (this.#result ??= this.#run(this.buildFor))
  }
}

/** A transaction whose statements accept templates of the pool as parts. */
export function withFragments(tx: Transaction): Transaction {
  return tagged(tx, (strings, values) => build(tx as never, strings, values)) as never
}

/**
 * A call without a template builds an identifier or a list of values: the client does that itself.
 */
export function tagged<Client extends Sql | Transaction>(
  client: Client,
  template: (strings: TemplateStringsArray, values: readonly unknown[]) => unknown,
) {
  const tag = (strings: TemplateStringsArray, ...values: never[]): unknown =>
    Array.isArray(strings.raw) ? template(strings, values) : client(strings, ...values)
  return Object.assign(tag, client)
}

/** Builds the statement of a template with a client, which executes it when it is awaited. */
export function build(client: Sql, strings: TemplateStringsArray, values: readonly unknown[]) {
  const resolved = values.map((value) => resolve(client, value))
  return client(strings, ...(resolved as never[]))
}

/** Builds a part, or a list of parts, with the client; other values pass unchanged. */
function resolve(client: Sql, value: unknown): unknown {
  if (value instanceof Statement) return value.buildFor(client)
  const isList = Array.isArray(value) && value[0] instanceof Statement
  return isList ? value.map((part) => resolve(client, part)) : value
}
