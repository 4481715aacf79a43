// Webhook attempts: what became of each try of a delivery.
import { sql } from 'drizzle-orm'
import {
  check,
  foreignKey,
  integer,
  pgTable,
  primaryKey,
  smallint,
  text,
  unique,
  uuid,
} from 'drizzle-orm/pg-core'
import { attemptErrors } from '../../domain/webhooks/webhook-delivery.ts'
import { moment, oneOf, seenByItsTenant } from './columns.ts'
import { webhookDeliveries } from './webhook-deliveries.ts'

/** One row for each attempt that a worker has seen the end of. Append-only; bodies are not kept. */
export const webhookAttempts = pgTable(
  'webhook_attempts',
  {
    tenantId: uuid('tenant_id').notNull(),
    id: uuid('id').notNull(),
    deliveryId: uuid('delivery_id').notNull(),
    number: integer('number').notNull(),
    startedAt: moment('started_at').notNull(),
    latencyMs: integer('latency_ms').notNull(),
    httpStatus: smallint('http_status'),
    error: text('error', { enum: attemptErrors }),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    // Two workers may make the same attempt, when one of them was given up too early; one records it.
    unique('webhook_attempts_once').on(table.tenantId, table.deliveryId, table.number),
    foreignKey({
      name: 'webhook_attempts_delivery',
      columns: [table.tenantId, table.deliveryId],
      foreignColumns: [webhookDeliveries.tenantId, webhookDeliveries.id],
    }),
    check('webhook_attempts_number', sql`number >= 1 and latency_ms >= 0`),
    // An attempt has an answer, or a reason why it has none.
    check('webhook_attempts_answer', sql`(http_status is null) = (error is not null)`),
    check('webhook_attempts_http_status', sql`http_status between 100 and 999`),
    check('webhook_attempts_error', sql`error in (${oneOf(attemptErrors)})`),
    seenByItsTenant(),
  ],
)
