// Checks that each change of a payment or refund was written with its event.
import type { Store } from '../../src/db/connection/client.ts'
import type { Violation } from './results.ts'

/** What the tables say about the announcement of a resource. */
export interface Announcement {
  readonly kind: 'payment' | 'refund'
  readonly id: string
  readonly status: string
  /** The status in its newest event. */
  readonly announced: string | null
  /** How many events say that it was created. */
  readonly created: number
}

export async function readAnnouncements(
  { sql }: Store,
  tenantId: string,
): Promise<readonly Announcement[]> {
  return await sql<Announcement[]>`
    select
      kind, resource.id, status,
      (
        select object ->> 'status' from events
        where tenant_id = ${tenantId} and coalesce(refund_id, payment_id) = resource.id
          and dispute_id is null
        order by id desc limit 1
      ) as announced,
      (
        select count(*)::int from events
        where tenant_id = ${tenantId} and coalesce(refund_id, payment_id) = resource.id
          and type = kind || '.created'
      ) as created
    from (
      select 'payment' as kind, id, status from payments where tenant_id = ${tenantId}
      union all
      select 'refund', id, status from refunds where tenant_id = ${tenantId}
    ) as resource
  `
}

/** The newest event of a resource has its status, and one event says that it was created. */
export function checkAnnouncements(announcements: readonly Announcement[]): Violation[] {
  return announcements.flatMap(({ kind, id, status, announced, created }) => [
    ...(announced === status
      ? []
      : [{ invariant: 5, what: `${kind} ${id} is ${status}, and announced as ${announced}` }]),
    ...(created === 1
      ? []
      : [{ invariant: 5, what: `${kind} ${id} was announced as created ${created} times` }]),
  ])
}
