// A row is read as `to_jsonb` writes it: events store rows, and older ones were stored so.
import { expect, test } from '@jest/globals'
import { store } from '../../support/own-store.ts'
import { makeTenant } from '../reservations.ts'

test.each([
  '2026-11-29 20:47:00.123456+00',
  '2026-11-29 20:47:00.12+00',
  '0999-01-01 00:00+00',
  null,
])('a payment whose hold ends at %s is read as to_jsonb writes it', async (captureBefore) => {
  const tenantId = await makeTenant(store)
  const [written] = await store.sql`
      insert into payments (
        tenant_id, id, amount_minor, currency, capture_method, payment_method, metadata, off_session,
        description, capture_before, provider
      )
      select
        ${tenantId}::uuid, gen_random_uuid(), 99999999, 'usd', 'manual', 'pm_card_visa',
        '{"b": "1", "a": "\\u00e9"}', true, 'T-shirt "L" 20:47', ${captureBefore}::timestamptz, 'stripe'
      returning *
    `

  const [found] = await store.sql<{ row: unknown }[]>`
      select to_jsonb(payments) as row from payments where tenant_id = ${tenantId}
    `
  expect(written).toEqual(found?.row)
  expect(await store.sql`select * from payments where tenant_id = ${tenantId}`).toEqual([
    found?.row,
  ])
})
