// Checks the events at the end of every test of an operation: an event tells of a change of status, or
// is announced once by its operation.
import { expect } from '@jest/globals'
import type { Store } from '../../src/db/connection/client.ts'
import { announcedEvents } from '../../src/domain/events/event-types.ts'

/**
 * Fails the test when an event has the same status as the event before it of the same payment or
 * refund, or when an operation announced an event of its own a second time: webhooks got it twice. Used
 * in `afterEach`.
 */
export async function expectNoStatusRepeated({ sql }: Store): Promise<void> {
  const repeated = await sql`
    with named as (
      select
        *, object ->> 'status' as status,
        case when type = any(${[...announcedEvents]}) then concat(type, idempotency_key) end as own
      from events
    ),
    told as (
      select
        type, payment_id, refund_id, own, status,
        lag(status) over (
          partition by tenant_id, payment_id, refund_id, own order by created_at, id
        ) as status_before
      from named
    )
    select type, payment_id, refund_id from told
    where status = status_before or own is not null and status_before is not null
  `
  expect([...repeated]).toEqual([])
}
