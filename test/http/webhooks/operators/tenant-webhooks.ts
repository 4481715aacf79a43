// Makes webhook endpoints of several tenants, with deliveries in each status, for the tests of the
// operators' endpoints. No worker delivers anything.
import { randomUUID, randomUUIDv7 } from 'node:crypto'
import type { Sql } from '../../../../src/db/connection/client.ts'
import { showId } from '../../../../src/domain/resource-id.ts'
import type { DeliveryStatus } from '../../../../src/domain/webhooks/webhook-delivery.ts'
import { untilLaterMillisecond } from '../../../support/later-millisecond.ts'

/** In every endpoint; no answer may contain it. */
export const SIGNING_SECRET = 'whsec_never_shown_to_anyone'

export interface MadeEndpoint {
  readonly tenantId: string
  readonly uuid: string
  /** The public ids. */
  readonly tenant: string
  readonly id: string
}

export async function makeTenantOf(sql: Sql): Promise<string> {
  const id = randomUUIDv7()
  await sql`insert into tenants (id, name) values (${id}, 'Shop')`
  return id
}

/** An id after those before. */
async function makeLaterId(): Promise<string> {
  await untilLaterMillisecond()
  return randomUUIDv7()
}

export async function makeEndpoint(
  sql: Sql,
  tenantId: string,
  state: 'enabled' | 'disabled' | 'paused' | 'deleted' = 'enabled',
): Promise<MadeEndpoint> {
  const uuid = await makeLaterId()
  const isDeleted = state === 'deleted'
  const { count } = await sql`select from webhook_endpoints where tenant_id = ${tenantId}`
  await sql`
    insert into webhook_endpoints (
      tenant_id, id, slot, url, event_types, secret, status, disabled_reason, paused_until
    )
    values (
      ${tenantId}, ${uuid}, ${isDeleted ? null : count + 1}, 'https://shop.example/hooks', '{"*"}',
      ${isDeleted ? null : SIGNING_SECRET}, ${state === 'paused' ? 'enabled' : state},
      ${state === 'disabled' ? 'failing' : null},
      ${state === 'paused' ? sql`now() + interval '1 hour'` : null}
    )
  `
  return { tenantId, uuid, tenant: showId('tnt', tenantId), id: showId('we', uuid) }
}

/** Makes a delivery of an own event, and returns its public id. */
export async function makeDelivery(
  sql: Sql,
  { tenantId, uuid }: MadeEndpoint,
  status: DeliveryStatus = 'failed',
): Promise<{ readonly id: string; readonly event: string }> {
  const [id, event] = [await makeLaterId(), randomUUIDv7()]
  await sql`
    insert into events (tenant_id, id, type, endpoint_id, object)
    values (${tenantId}, ${event}, 'webhook_endpoint.test', ${uuid}, '{}')
  `
  await sql`
    insert into webhook_deliveries (
      tenant_id, id, event_id, endpoint_id, status, attempts, next_attempt_at
    )
    values (
      ${tenantId}, ${id}, ${event}, ${uuid}, ${status}, 1,
      ${status === 'pending' ? sql`now()` : null}
    )
  `
  await sql`
    insert into webhook_attempts (
      tenant_id, id, delivery_id, number, started_at, latency_ms, http_status
    )
    values (${tenantId}, ${randomUUID()}, ${id}, 1, now(), 12, 500)
  `
  return { id: showId('wd', id), event: showId('evt', event) }
}
