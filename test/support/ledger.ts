// Checks the ledger at the end of every test that moves money: the postings sum to zero per
// currency and per ledger transaction, and each transaction belongs to one movement.
import { expect } from '@jest/globals'
import type { Store } from '../../src/db/connection/client.ts'

/**
 * Fails the test when the ledger is out of balance. Used in `afterEach`.
 *
 * @param tenantId checks only this tenant's ledger. By default all ledgers are checked.
 */
export async function expectLedgerBalanced({ sql }: Store, tenantId?: string): Promise<void> {
  const isChecked = tenantId === undefined ? sql`true` : sql`tenant_id = ${tenantId}`
  const unbalanced = await sql`
    with entries as (
      select tenant_id, transaction_id, currency, debit as account, amount_minor as amount
      from ledger_postings where ${isChecked}
      union all
      select tenant_id, transaction_id, currency, credit, -amount_minor
      from ledger_postings where ${isChecked}
    )
    select 'currency' as sum_over, tenant_id, currency as id, sum(amount) from entries
    group by tenant_id, currency having sum(amount) <> 0
    union all
    select 'transaction', tenant_id, transaction_id::text, sum(amount) from entries
    group by tenant_id, transaction_id having sum(amount) <> 0
  `
  expect(unbalanced).toHaveLength(0)
  const mixed = await sql`
    select tenant_id, transaction_id from ledger_postings where ${isChecked}
    group by tenant_id, transaction_id
    having count(distinct (kind, payment_id, refund_id, operation_id, currency, created_at)) > 1
  `
  expect(mixed).toHaveLength(0)
}
