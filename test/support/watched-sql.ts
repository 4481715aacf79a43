// A pool whose statements a test watches: its own, and those of its transactions.
import type { Sql, Transaction } from '../../src/db/connection/client.ts'

/**
 * Called with the text of each statement, and of each part of one; values are question marks. `make` makes
 * it: it is sent when it is awaited. The client is the pool or the transaction.
 */
export type Watch = (text: string, make: () => PromiseLike<object>, client: object) => unknown

export function watchSql(sql: Sql, watch: Watch): Sql {
  return watched(sql, watch)
}

function watched<Client extends Sql | Transaction>(client: Client, watch: Watch): Client {
  return new Proxy(client, {
    get(target, name) {
      if (name !== 'begin') return Reflect.get(target, name) as unknown
      return (work: (tx: Transaction) => Promise<unknown>) =>
        (target as Sql).begin((tx) => work(watched(tx, watch)))
    },
    apply(target, self, [strings, ...values]: [TemplateStringsArray, ...unknown[]]) {
      const make = () => Reflect.apply(target, self, [strings, ...values]) as PromiseLike<object>
      // Outside of a transaction a statement is only built.
      const isExecuted = Array.isArray(strings) && 'raw' in strings && !('begin' in target)
      return isExecuted ? watch(strings.join('?'), make, target) : make()
    },
  })
}
