// Fills a database with succeeded payments of a hundred tenants, for pages that must stay fast.
import { randomUUIDv7 } from 'node:crypto'
import type { Sql } from '../../src/db/connection/client.ts'

const TENANTS = 100
/** For one statement, which has seconds. */
const BATCH = 10_000
/** Of UUIDv7s in order of time, as the service makes them: the rows of a page lie side by side. */
const FIRST_ID = '01900'

export async function fillPayments(sql: Sql, payments: number): Promise<void> {
  const tenants = Array.from({ length: TENANTS }, () => ({ id: randomUUIDv7(), name: 'Shop' }))
  await sql`insert into tenants ${sql(tenants)}`
  const ids = tenants.map(({ id }) => id)
  for (let from = 0; from < payments; from += BATCH) {
    await sql`
      insert into payments (
        tenant_id, id, amount_minor, currency, status, previous_status, capture_method,
        payment_method, metadata, provider, provider_payment_id, amount_captured_minor
      )
      select
        (${ids}::uuid[])[1 + number % ${TENANTS}::int],
        (${FIRST_ID} || lpad(to_hex(number), 7, '0') || '7' || substr(md5(number::text), 1, 3)
          || 'a' || substr(md5(number::text), 4, 15))::uuid,
        1999, 'usd', 'succeeded', 'processing',
        'automatic', 'pm_card_visa', '{}', 'stripe', 'pi_' || number, 1
      from generate_series(${from}::int, ${Math.min(from + BATCH, payments) - 1}::int) as number
    `
  }
  await sql`analyze payments`
}
