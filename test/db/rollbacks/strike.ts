// Fails transactions after one of their statements, for tests of rollbacks.
import { setImmediate as turn } from 'node:timers/promises'
import type { Sql, Transaction } from '../../../src/db/connection/client.ts'
import { isTemplate } from '../../../verify/statements/record-statements.ts'

export class StruckError extends Error {}

interface Rows {
  readonly statement?: { readonly string: string }
}

/** A template that the driver sends when it is awaited. */
interface Query {
  then: PromiseLike<Rows>['then']
}

type Work = (tx: Transaction) => Promise<unknown>

/**
 * Fails a transaction after that many statements: the last of them is executed, and then rejects. A
 * transaction that has fewer fails before its commit.
 */
export class Strike {
  /** The statements that were executed, as PostgreSQL got them. */
  readonly executed: string[] = []
  /** Those that were made when the transaction had ended. */
  readonly late: string[] = []
  /** Whether all statements succeeded, and only the commit did not. */
  isBeforeCommit = false
  readonly #statements: number
  #sent = 0
  #isStruck = false
  #isOver = false

  constructor(statements: number) {
    this.#statements = statements
  }

  /** The pool for one transaction. */
  on(pool: Sql): Sql {
    const begin = (work: Work) => pool.begin((tx) => this.#run(tx, work))
    return new Proxy(pool, {
      get: (target, name) => (name === 'begin' ? begin : (Reflect.get(target, name) as unknown)),
    })
  }

  async #run(tx: Transaction, work: Work): Promise<never> {
    await work(this.#watched(tx)).finally(() => (this.#isOver = true))
    this.isBeforeCommit = true
    throw new StruckError()
  }

  #watched(tx: Transaction): Transaction {
    return new Proxy(tx, {
      apply: (target, self, [strings, ...values]: [unknown, ...unknown[]]) => {
        const make = () => Reflect.apply(target, self, [strings, ...values]) as Query
        return isTemplate(strings) ? this.#watch(strings.join('?'), make) : make()
      },
      get: (target, name) =>
        name === 'unsafe'
          ? (text: string) => this.#watch(text, () => target.unsafe(text))
          : (Reflect.get(target, name) as unknown),
    })
  }

  /** A statement is sent when it is awaited. A part of another one never is. */
  #watch(text: string, make: () => Query): Query {
    if (this.#isOver) this.late.push(text)
    const query = make()
    const send = query.then.bind(query)
    let result: Promise<Rows> | undefined
    // oxlint-disable-next-line unicorn/no-thenable -- so is the driver's own.
    query.then = (...handlers) => (result ??= this.#execute(send)).then(...handlers)
    return query
  }

  async #execute(send: Query['then']): Promise<Rows> {
    this.#sent += 1
    const isLast = this.#sent === this.#statements
    const rows = await new Promise<Rows>((resolve, reject) => void send(resolve, reject))
    this.executed.push(rows.statement?.string.trim() ?? '')
    // What goes on without a wait for the struck statement does so when the transaction has ended.
    if (this.#isStruck) await turn()
    this.#isStruck ||= isLast
    if (isLast) throw new StruckError()
    return rows
  }
}
