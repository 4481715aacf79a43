// Builds the statement parts that insert events. The statement that changes a status inserts the
// event, its deliveries and their jobs too, so that neither the change nor the event exists alone.
import { randomUUIDv7 } from 'node:crypto'
import { isInternalKey } from '../../domain/events/provider-event.ts'
import { EVERY_EVENT } from '../../domain/webhooks/webhook-endpoint.ts'
import type { Fragment, Sql, Transaction } from '../connection/client.ts'
import { idOfEach } from '../connection/ids.ts'
import { insertJobs } from '../queue/jobs.ts'
import { WEBHOOKS_QUEUE } from '../queue/queues.ts'

export type ResourceKind = 'payment' | 'refund' | 'dispute'

/** The CTE that returns the changed row, and what the row is. */
interface ChangedRow {
  readonly cte: 'resource' | 'changed'
  readonly kind: ResourceKind
}

/**
 * The parts `event`, `delivery` and `delivery_job` of a statement whose CTE `changed.cte` returns
 * the changed row: an event, unless the status stayed the same, and a delivery to each endpoint
 * that subscribed to it. The changed row becomes the event's object. An internal key is not shown
 * as the idempotency key.
 */
export function insertEventOfChange(
  sql: Sql | Transaction,
  changed: ChangedRow,
  idempotencyKey: string,
): Fragment {
  const shownKey = isInternalKey(idempotencyKey) ? null : idempotencyKey
  return sql`
    event as (${insertEvent(sql, changed, sql`${shownKey}::text`)} returning tenant_id, id, type),
    ${deliverEvents(sql)}
  `
}

/** The same parts for each row of the CTE `resource` of an intent statement. */
export function insertEventOfIntent(sql: Sql, kind: ResourceKind): Fragment {
  const shownKey = sql`(
    select shown_key from asked
    where asked.tenant_id = resource.tenant_id and asked.${sql(`${kind}_id`)} = resource.id
  )`
  return sql`
    event as (
      ${insertEvent(sql, { cte: 'resource', kind }, shownKey)} returning tenant_id, id, type
    ),
    ${deliverEvents(sql)}
  `
}

/**
 * The same parts for events of this type about each payment in a CTE, of several tenants, although
 * their status stays the same. No request caused them.
 */
export function insertEventOfEach(
  sql: Sql,
  { payments, type }: { payments: string; type: string },
): Fragment {
  const rows = sql(payments)
  return sql`
    event as (
      insert into events (tenant_id, id, type, payment_id, object)
      select
        tenant_id, ${idOfEach(sql)}, ${type}::text, id, to_jsonb(${rows})
      from ${rows}
      returning tenant_id, id, type
    ),
    ${deliverEvents(sql)}
  `
}

/** The same parts, with an event of each of these types. No request of a client caused them. */
export function insertEventsOfTypes(
  sql: Sql | Transaction,
  { cte, kind }: ChangedRow,
  types: readonly string[],
): Fragment {
  const events = types.map((type) => ({ event_id: randomUUIDv7(), type }))
  return sql`
    event as (
      insert into events (tenant_id, id, type, payment_id, refund_id, dispute_id, object)
      select tenant_id, named.event_id, named.type, ${idsOf(sql, kind)}, to_jsonb(${sql(cte)})
      from ${sql(cte)}, jsonb_to_recordset(${JSON.stringify(events)}::jsonb) as named (
        event_id uuid, type text
      )
      returning tenant_id, id, type
    ),
    ${deliverEvents(sql)}
  `
}

/**
 * The same parts for an event of this type about each endpoint in a CTE.
 *
 * @param to the endpoints that receive it, out of the enabled ones of the tenant.
 */
export function insertEventOfEndpoint(
  sql: Sql | Transaction,
  { endpoints, type, to }: { endpoints: string; type: string; to: Fragment },
): Fragment {
  return sql`
    event as (
      insert into events (tenant_id, id, type, endpoint_id, object)
      select
        tenant_id, ${randomUUIDv7()}::uuid, ${type}::text, id,
        jsonb_build_object(
          'id', id, 'description', description, 'status', status,
          'disabled_reason', disabled_reason, 'failing_since', failing_since
        )
      from ${sql(endpoints)}
      returning tenant_id, id, type, endpoint_id
    ),
    ${deliverEvents(sql, to)}
  `
}

/** The endpoints that subscribed to the event. */
export const subscribed = (sql: Sql | Transaction): Fragment => sql`
  webhook_endpoints.event_types && array[${EVERY_EVENT}::text, event.type]
`

function deliverEvents(sql: Sql | Transaction, to = subscribed(sql)): Fragment {
  return sql`
    delivery as (${insertDeliveries(sql, to)} returning tenant_id, id, endpoint_id),
    delivery_job as (${insertDeliveryJobs(sql, { from: 'delivery', attempt: sql`1` })})
  `
}

function insertEvent(sql: Sql | Transaction, changed: ChangedRow, shownKey: Fragment): Fragment {
  const changedRows = sql(changed.cte)
  return sql`
    insert into events (
      tenant_id, id, type, payment_id, refund_id, dispute_id, object, idempotency_key
    )
    select
      tenant_id, ${idOfEach(sql)},
      ${changed.kind}::text || '.' || case when previous_status is null then 'created' else status end,
      ${idsOf(sql, changed.kind)}, to_jsonb(${changedRows}), ${shownKey}
    from ${changedRows}
    where status is distinct from previous_status
  `
}

/** The columns payment_id, refund_id and dispute_id of an event. */
function idsOf(sql: Sql | Transaction, kind: ChangedRow['kind']): Fragment {
  switch (kind) {
    case 'payment':
      return sql`id, null::uuid, null::uuid`
    case 'refund':
      return sql`payment_id, id, null::uuid`
    case 'dispute':
      return sql`payment_id, null::uuid, id`
  }
}

/** The id of a delivery is a UUIDv7: the time of the event's id, and random bits. */
function insertDeliveries(sql: Sql | Transaction, to: Fragment): Fragment {
  return sql`
    insert into webhook_deliveries (tenant_id, id, event_id, endpoint_id, next_attempt_at)
    select
      event.tenant_id,
      (left(event.id::text, 15) || right(gen_random_uuid()::text, 21))::uuid,
      event.id, webhook_endpoints.id, now()
    from event
    join webhook_endpoints on webhook_endpoints.tenant_id = event.tenant_id
    where webhook_endpoints.status = 'enabled' and ${to}
  `
}

/** A part of a statement: the job for the next attempt of each delivery in the CTE `from`. */
export function insertDeliveryJobs(
  sql: Sql | Transaction,
  { from, attempt, startAfter }: { from: string; attempt: Fragment; startAfter?: Fragment },
): Fragment {
  const job = sql`
    jsonb_build_object(
      'tenantId', tenant_id, 'endpointId', endpoint_id, 'deliveryId', id, 'attempt', ${attempt}::int
    )
  `
  return insertJobs(sql, {
    queue: WEBHOOKS_QUEUE,
    from,
    job,
    ...(startAfter === undefined ? {} : { startAfter }),
  })
}
