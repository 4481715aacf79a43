// Counts requests for all API processes together, with rate-limiter-flexible in a table of its
// format. Counts are disposable: they expire with their window.
import { RateLimiterPostgres } from 'rate-limiter-flexible'
import type { Sql } from '../connection/client.ts'

const TABLE = 'rate_limits'

/**
 * Adds to the count of that name and returns the new value. A new count starts at zero when the
 * previous one has expired.
 */
export type SharedCount = (name: string, points: number, endsInMs: number) => Promise<number>

/** Returns a function that adds to a count in the database. */
export function createSharedCount(sql: Sql): SharedCount {
  const limiter = new RateLimiterPostgres({
    storeClient: asPgPool(sql),
    storeType: 'pool',
    tableName: TABLE,
    tableCreated: true,
    // A tenant has two rows, which are reused: the table does not grow.
    clearExpiredByTimeout: false,
    keyPrefix: '',
    // The limiter only counts; the API process compares the count with the limit.
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

/** The package supports only the `pg` driver, and uses only `query` of its pool. */
function asPgPool(sql: Sql) {
  return {
    async query({ text, values }: Query) {
      // The package multiplies seconds into milliseconds, which may not be an integer.
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
