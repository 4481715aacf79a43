// Checks the events at the end of every test of an operation: an event tells of a change of status.
import { expect } from '@jest/globals'
import type { Store } from '../../src/db/connection/client.ts'

/**
 * Fails the test when an event has the same status as the event before it of the same payment or
 * refund: it was announced twice, also to webhooks. Used in `afterEach`.
 */
export async function expectNoStatusRepeated({ sql }: Store): Promise<void> {
  const repeated = await sql`
    with told as (
      select
        type, payment_id, refund_id, object ->> 'status' as status,
        lag(object ->> 'status') over (
          partition by tenant_id, payment_id, refund_id order by created_at, id
        ) as status_before
      from events
    )
    select type, payment_id, refund_id from told where status = status_before
  `
  expect([...repeated]).toEqual([])
}
