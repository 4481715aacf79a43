// Builds the statement parts that insert events. The statement that changes a status inserts the
// event, its deliveries and their jobs too, so that neither the change nor the event exists alone.
// The same holds for an event that an operation announces without a change.
import type { AnnouncedEvent } from '../../domain/events/event-types.ts'
import { isInternalKey } from '../../domain/events/provider-event.ts'
import { EVERY_EVENT } from '../../domain/webhooks/webhook-endpoint.ts'
import type { Fragment, Sql, Transaction } from '../connection/client.ts'
import { nextId } from '../connection/ids.ts'
import { insertJobs } from '../queue/jobs.ts'
import { WEBHOOKS_QUEUE } from '../queue/queues.ts'

export type ResourceKind = 'payment' | 'refund' | 'dispute'

/** The CTE that returns the changed rows, and what they are. */
interface ChangedRow {
  readonly cte: 'resource' | 'changed'
  readonly kind: ResourceKind
}

/**
 * The parts `event`, `delivery` and `delivery_job` of a statement whose CTE `changed.cte` returns
 * the changed rows: an event of each, unless its status stayed the same, and a delivery to each
 * endpoint that subscribed to it. The changed row becomes the event's object.
 *
 * @param requests the CTE that has the key of each change, as `shown_key`: see `shownKey`.
 */
export function insertEventsOfChanges(
  sql: Sql | Transaction,
  changed: ChangedRow,
  requests: 'asked' | 'fenced',
): Fragment {
  return sql`
    event as (
      ${insertEvents(sql, changed, keyOfChange(sql, changed, requests))} returning tenant_id, id, type
    ),
    ${deliverEvents(sql)}
  `
}

function keyOfChange(
  sql: Sql | Transaction,
  { cte, kind }: ChangedRow,
  requests: 'asked' | 'fenced',
): Fragment {
  const [source, rows] = [sql(requests), sql(cte)]
  return sql`(
    select shown_key from ${source}
    where ${source}.tenant_id = ${rows}.tenant_id
      and ${source}.${sql(`${kind}_id`)} = ${rows}.id
  )`
}

/**
 * The same parts for an event of this type about the payment of each operation in the CTE `fenced`,
 * which the statement does not change. The lock puts the event in order with those of other changes.
 */
export function announceIfOwner(sql: Sql | Transaction, type: AnnouncedEvent): Fragment {
  const resource = { cte: 'resource', kind: 'payment' } as const
  return sql`
    resource as (
      select payments.* from payments
      join fenced on payments.tenant_id = fenced.tenant_id and payments.id = fenced.payment_id
      for share of payments
    ),
    ${insertEventsOfTypes(sql, resource, [type], keyOfChange(sql, resource, 'fenced'))}
  `
}

/** The idempotency key that an event shows: an internal one is not shown. */
export const shownKey = (key: string): string | null => (isInternalKey(key) ? null : key)

/** The columns of the CTE `fenced` that an event of this change reads. */
export function columnsOfChange(
  sql: Sql | Transaction,
  kind: ResourceKind,
  { tenantId, id }: { readonly tenantId: string; readonly id: string },
  idempotencyKey: string,
): Fragment {
  return sql`
    , ${tenantId}::uuid as tenant_id, ${id}::uuid as ${sql(`${kind}_id`)},
    ${shownKey(idempotencyKey)}::text as shown_key
  `
}

/**
 * The same parts, with an event of each of these types.
 *
 * @param key the idempotency key of the request that caused them, if one did.
 */
export function insertEventsOfTypes(
  sql: Sql | Transaction,
  { cte, kind }: ChangedRow,
  types: readonly string[],
  key = sql`null`,
): Fragment {
  return sql`
    event as (
      insert into events (
        tenant_id, id, type, payment_id, refund_id, dispute_id, object, idempotency_key
      )
      select
        tenant_id, ${idOfEvent(sql)}, named.type, ${idsOf(sql, kind)}, to_jsonb(${sql(cte)}), ${key}
      from ${sql(cte)}, jsonb_array_elements_text(${JSON.stringify(types)}::jsonb) as named (type)
      returning tenant_id, id, type
    ),
    ${deliverEvents(sql)}
  `
}

function deliverEvents(sql: Sql | Transaction): Fragment {
  return sql`
    delivery as (${insertDeliveries(sql)} returning tenant_id, id, endpoint_id),
    delivery_job as (${insertDeliveryJobs(sql)})
  `
}

function insertEvents(sql: Sql | Transaction, changed: ChangedRow, key: Fragment): Fragment {
  const changedRows = sql(changed.cte)
  return sql`
    insert into events (
      tenant_id, id, type, payment_id, refund_id, dispute_id, object, idempotency_key
    )
    select
      tenant_id, ${idOfEvent(sql)},
      ${changed.kind}::text || '.' || case when previous_status is null then 'created' else status end,
      ${idsOf(sql, changed.kind)}, to_jsonb(${changedRows}), ${key}
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

const idOfEvent = (sql: Sql | Transaction): Fragment => nextId(sql, 'events', sql`tenant_id`)

/** The id of a delivery has the place of its event's id in their order. */
function insertDeliveries(sql: Sql | Transaction): Fragment {
  return sql`
    insert into webhook_deliveries (tenant_id, id, event_id, endpoint_id, next_attempt_at)
    select
      event.tenant_id,
      (left(event.id::text, 18) || right(gen_random_uuid()::text, 18))::uuid,
      event.id, webhook_endpoints.id, now()
    from event
    join webhook_endpoints on webhook_endpoints.tenant_id = event.tenant_id
    where webhook_endpoints.status = 'enabled'
      and webhook_endpoints.event_types && array[${EVERY_EVENT}::text, event.type]
  `
}

function insertDeliveryJobs(sql: Sql | Transaction): Fragment {
  const job = sql`
    jsonb_build_object(
      'tenantId', tenant_id, 'endpointId', endpoint_id, 'deliveryId', id, 'attempt', 1
    )
  `
  return insertJobs(sql, { queue: WEBHOOKS_QUEUE, from: 'delivery', job })
}
