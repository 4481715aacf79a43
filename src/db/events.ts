// The statements on events. An event is written by the statement that changes the status it tells of,
// so that neither is ever there without the other.
import { randomUUIDv7 } from 'node:crypto'
import type { Fragment, Sql, Transaction } from './client.ts'

/**
 * A part of a statement whose CTE of that name holds the changed row: its event, unless the status is
 * the one it had before. The row as it is now becomes the event's object.
 */
export function recordEvent(
  sql: Sql | Transaction,
  changed: { cte: 'resource' | 'changed'; kind: 'payment' | 'refund' },
  idempotencyKey: string,
): Fragment {
  const row = sql(changed.cte)
  const ids = changed.kind === 'payment' ? sql`id, null::uuid` : sql`payment_id, id`
  return sql`
    insert into events (tenant_id, id, type, payment_id, refund_id, object, idempotency_key)
    select
      tenant_id, ${randomUUIDv7()}::uuid,
      ${changed.kind}::text || '.' || case when previous_status is null then 'created' else status end,
      ${ids}, to_jsonb(${row}), ${idempotencyKey}::text
    from ${row}
    where status is distinct from previous_status
  `
}
