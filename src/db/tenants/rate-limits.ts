// The counts of requests that all API processes share, kept by rate-limiter-flexible in a table of its
// own form. They are gone with their window, and of no worth to anybody afterwards.
import { RateLimiterPostgres } from 'rate-limiter-flexible'
import type { Sql } from '../connection/client.ts'

const TABLE = 'rate_limits'

/**
 * Adds to the count of that name, and tells what it is now. A count begins at zero when the one before
 * it has ended.
 */
export type SharedCount = (name: string, points: number, endsInMs: number) => Promise<number>

export function createSharedCount(sql: Sql): SharedCount {
  const limiter = new RateLimiterPostgres({
    storeClient: asPgPool(sql),
    storeType: 'pool',
    tableName: TABLE,
    tableCreated: true,
    // A tenant has two rows, which are used again: nothing grows.
    clearExpiredByTimeout: false,
    keyPrefix: '',
    // It only counts: who compares with the limit is the process that answers.
    points: Number.MAX_SAFE_INTEGER,
    duration: 1,
  })
  return async (name, points, endsInMs) => {
    const customDuration = Math.max(1, endsInMs) / 1_000
    const { consumedPoints } = await limiter.penalty(name, points, { customDuration })
    return consumedPoints
  }
}

interface Query {
  readonly text: string
  readonly values: readonly (string | number)[]
}

/** The package knows the `pg` driver alone; all that it needs of a pool of that is `query`. */
function asPgPool(sql: Sql) {
  return {
    async query({ text, values }: Query) {
      // Seconds become milliseconds again by a multiplication, which need not yield an integer.
      const integers = values.map((value) =>
        typeof value === 'number' ? Math.round(value) : value,
      )
      const rows = await sql.unsafe<{ points: number; expire: string }[]>(text, integers, {
        prepare: true,
      })
      return { rows: rows.map((row) => ({ ...row, expire: Number(row.expire) })) }
    },
  }
}
