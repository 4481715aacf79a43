// Watches the transactions that write batches, for tests: how many members each has. The
// acknowledgment of one can get lost.
import type { Sql, Transaction } from '../../src/db/connection/client.ts'
import { connectionLost } from '../support/engine-doubles.ts'

export interface WatchedBatches {
  readonly sql: Sql
  /** The number of members of each batch so far: keys that it reserves, or rows of keys that it moves. */
  readonly sizes: readonly number[]
  /** The next batch is committed, and its acknowledgment is lost. */
  loseAcknowledgment(): void
}

const RESERVES = /^\s*insert into idempotency_keys/
const MOVES = /^\s*update idempotency_keys set/

export function watchBatches(pool: Sql): WatchedBatches {
  const sizes: number[] = []
  let losesNext = false
  const begin = async (work: (tx: Transaction) => Promise<unknown>): Promise<unknown> => {
    let size = 0
    const watched = (own: Transaction) =>
      new Proxy(own, {
        apply(target, self, [strings, ...values]: [TemplateStringsArray, ...unknown[]]) {
          const text = Array.isArray(strings) ? String(strings[0]) : ''
          if (MOVES.test(text)) size += 1
          if (RESERVES.test(text)) {
            const [rows] = values as { readonly first: readonly unknown[] }[]
            size += rows?.first.length ?? 0
          }
          return Reflect.apply(target, self, [strings, ...values]) as unknown
        },
      })
    const result = await pool
      .begin((own) => work(watched(own)))
      .finally(() => {
        if (size > 0) sizes.push(size)
      })
    if (size === 0 || !losesNext) return result
    losesNext = false
    throw connectionLost()
  }
  const sql = new Proxy(pool, {
    get: (target, name) => (name === 'begin' ? begin : (Reflect.get(target, name) as unknown)),
  })
  return { sql, sizes, loseAcknowledgment: () => (losesNext = true) }
}
