// Watches the statements that write batches, for tests: how many members each has. The
// acknowledgment of one can get lost.
import type { Sql } from '../../src/db/connection/client.ts'
import { connectionLost } from '../support/engine-doubles.ts'

export interface WatchedBatches {
  readonly sql: Sql
  /** The number of members of each statement so far. */
  readonly sizes: readonly number[]
  /** The next statement is committed, and its acknowledgment is lost. */
  loseAcknowledgment(): void
}

export function watchBatches(pool: Sql): WatchedBatches {
  const sizes: number[] = []
  let losesNext = false
  const sql = new Proxy(pool, {
    apply(target, self, [strings, ...values]: [TemplateStringsArray, ...unknown[]]) {
      const statement = Reflect.apply(target, self, [strings, ...values]) as Promise<unknown>
      const isBatch = Array.isArray(strings) && /^\s*with asked/.test(strings[0] ?? '')
      if (!isBatch) return statement
      const asked = values.find((value) => typeof value === 'string') as string
      sizes.push((JSON.parse(asked) as unknown[]).length)
      if (!losesNext) return statement
      losesNext = false
      return statement.then(() => Promise.reject(connectionLost()))
    },
  })
  return { sql, sizes, loseAcknowledgment: () => (losesNext = true) }
}
