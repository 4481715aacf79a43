// A pool of clients with one connection each. The driver's own pool (postgres 3.4.9) is not for a process that
// stays: it keeps a place in memory for each statement that it ever sent behind another one, and goes through
// all of them for the next, so that a busy process gets slower for as long as it lives.
import type { Sql, Transaction } from './client.ts'
import { isConnectionBroken } from './store-errors.ts'

/** Whoever has a connection to himself keeps it for longer than a statement takes. */
const EXCLUSIVE = 100

/** Longer than any of ours may take; each of its statements is bounded by the server. */
const TRANSACTION = { weight: EXCLUSIVE, limitMs: 15 * 60_000 }

/**
 * A statement, or a transaction, takes the connection with the fewest under way, the first one of several: so
 * one after the other they find it warm, and behind one that waits for a lock, or for a server that is
 * silent, come no more than the others have.
 *
 * @param connect makes a client of one connection.
 * @param limitMs after so many milliseconds without an answer to a statement its connection counts as lost: one
 *   that went silent would fail by itself only when TCP gives up, in a quarter of an hour.
 */
export function openPool(size: number, connect: () => Sql, limitMs: number): Sql {
  const lanes = Array.from({ length: size }, () => new Lane(connect))
  // Has no statement of its own: for names, and for channels, which have a connection that nobody renews.
  const client = connect()
  const choose = (): Lane =>
    lanes.reduce((best, lane) => (lane.underWay < best.underWay ? lane : best))
  const carryOut = (make: Make) => choose().carryOut(make, { limitMs })
  const pool = tagged(
    client,
    (strings, values) => new Statement((own) => build(own, strings, values), carryOut),
  )
  const methods = {
    unsafe: (...text: [string]) => new Statement((own) => own.unsafe(...text), carryOut),
    begin: (work: (tx: Transaction) => Promise<unknown>) =>
      choose().carryOut((own) => own.begin((tx) => work(withParts(tx))), TRANSACTION),
    reserve: () => choose().reserve(),
    async end(options?: { timeout?: number }) {
      await Promise.all(
        [client, ...lanes.map((lane) => lane.client)].map((own) => own.end(options)),
      )
    },
  }
  return Object.assign(pool, methods)
}

type Make = (client: Sql) => Promise<unknown>

/** What a template says, until somebody waits for it, or it becomes a part of what another one says. */
class Statement {
  readonly makeFor: Make
  readonly #carryOut: (make: Make) => Promise<unknown>
  #carriedOut: Promise<unknown> | undefined

  constructor(makeFor: Make, carryOut: (make: Make) => Promise<unknown>) {
    this.makeFor = makeFor
    this.#carryOut = carryOut
  }

  // oxlint-disable-next-line unicorn/no-thenable -- so are the driver's own.
  then(...handlers: Parameters<Promise<unknown>['then']>): Promise<unknown> {
    return this.#settled.then(...handlers)
  }

  catch(handler: (error: unknown) => unknown): Promise<unknown> {
    return this.#settled.catch(handler)
  }

  finally(handler: () => void): Promise<unknown> {
    return this.#settled.finally(handler)
  }

  get #settled(): Promise<unknown> {
    return (this.#carriedOut ??= this.#carryOut(this.makeFor))
  }
}

/** A client whose statements may have parts that the pool's templates have made. */
function withParts(tx: Transaction): Transaction {
  return tagged(tx, (strings, values) => build(tx as never, strings, values)) as never
}

/** What is no template is a name, or a list of values, to be put into one: the client's own. */
function tagged<Client extends Sql | Transaction>(
  client: Client,
  template: (strings: TemplateStringsArray, values: readonly unknown[]) => unknown,
) {
  const tag = (strings: TemplateStringsArray, ...values: never[]): unknown =>
    Array.isArray(strings.raw) ? template(strings, values) : client(strings, ...values)
  return Object.assign(tag, client)
}

function build(client: Sql, strings: TemplateStringsArray, values: readonly unknown[]) {
  const made = values.map((value) => madeFor(client, value))
  return client(strings, ...(made as never[]))
}

/** A part, or a list of parts, as the client takes it; anything else as it is. */
function madeFor(client: Sql, value: unknown): unknown {
  if (value instanceof Statement) return value.makeFor(client)
  const isList = Array.isArray(value) && value[0] instanceof Statement
  return isList ? value.map((part) => madeFor(client, part)) : value
}

class Lane {
  client: Sql
  underWay = 0
  readonly #connect: () => Sql

  constructor(connect: () => Sql) {
    this.client = connect()
    this.#connect = connect
  }

  /** @throws whatever the work throws; when it was not answered in time, that its connection is destroyed. */
  async carryOut<Value>(
    work: (client: Sql) => Promise<Value>,
    { weight = 1, limitMs }: { readonly weight?: number; readonly limitMs: number },
  ): Promise<Value> {
    const { client } = this
    // Behind a transaction it is not silence that a statement waits for.
    const isBehind = this.underWay >= EXCLUSIVE
    this.underWay += weight
    const limit = setTimeout(() => isBehind || this.#renew(client), limitMs).unref()
    try {
      return await work(client)
    } catch (error) {
      if (isConnectionBroken(error)) this.#renew(client)
      throw error
    } finally {
      clearTimeout(limit)
      this.underWay -= weight
    }
  }

  async reserve(): ReturnType<Sql['reserve']> {
    const connection = await this.carryOut(async (client) => {
      // One that is not connected yet would never be given out.
      await client`select 1`
      return await client.reserve()
    }, TRANSACTION)
    this.underWay += EXCLUSIVE
    const release = connection.release.bind(connection)
    connection.release = () => {
      this.underWay -= EXCLUSIVE
      release()
    }
    return connection
  }

  /** The lost client would tell its next statement, too, what the server said at last. */
  #renew(lost: Sql): void {
    if (lost !== this.client) return
    this.client = this.#connect()
    void lost.end({ timeout: 0 })
  }
}
