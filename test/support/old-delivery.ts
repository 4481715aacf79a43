// Creates a webhook delivery of an event of a payment, as an earlier process left it.
import { randomUUIDv7 } from 'node:crypto'
import type { Sql } from '../../src/db/connection/client.ts'
import type { PaymentRef } from './engine.ts'

/** With an attempt, to an endpoint of its own, which gets no other. */
export async function insertDelivery(
  sql: Sql,
  { tenantId, paymentId }: PaymentRef,
  { status, id = randomUUIDv7() }: { status: string; id?: string },
): Promise<string> {
  const endpointId = randomUUIDv7()
  await sql`
    insert into webhook_endpoints (
      tenant_id, id, slot, url, event_types, secret, status, disabled_reason
    )
    select ${tenantId}, ${endpointId}, count(*) + 1, 'https://shop.example/', '{"*"}', 'whsec_a',
      'disabled', 'requested'
    from webhook_endpoints where tenant_id = ${tenantId}
  `
  await sql`
    insert into webhook_deliveries (tenant_id, id, event_id, endpoint_id, status, next_attempt_at)
    select tenant_id, ${id}, id, ${endpointId}, ${status},
      case when ${status} = 'pending' then now() end
    from events where payment_id = ${paymentId} order by events.id limit 1
  `
  await sql`
    insert into webhook_attempts (
      tenant_id, id, delivery_id, number, started_at, latency_ms, http_status
    )
    values (${tenantId}, ${randomUUIDv7()}, ${id}, 1, now(), 10, 500)
  `
  return id
}
