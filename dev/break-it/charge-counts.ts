// Counts charged payments, for the comparison with what the stand-in of `npm start` executed. It reads
// all payments, and so has no place beside a real provider.
import type { Sql } from '../../src/db/connection/client.ts'
import { asService } from '../../src/db/connection/transaction.ts'

export interface ChargeCounts {
  /** Payments whose capture is recorded. */
  readonly charged: number
  /** Payments that may be charged, although that is not recorded yet. */
  readonly inProgress: number
}

/** Counts the payments of all tenants. */
export async function countCharges(sql: Sql): Promise<ChargeCounts> {
  const [counts] = await asService(sql)<ChargeCounts[]>`
    select
      count(case when amount_captured_minor > 0 then 1 end)::integer as charged,
      count(case when amount_captured_minor = 0 and status in ('processing', 'unknown') then 1 end)
        ::integer as "inProgress"
    from payments
  `
  return counts ?? { charged: 0, inProgress: 0 }
}
