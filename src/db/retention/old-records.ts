// Deletes records that are older than their retention period, in bounded batches. What an operation, a
// delivery or a person still needs stays, however old it is. Ids are UUIDv7 and sort by time, so the
// primary key of each table finds the oldest rows of a tenant.
import type { Fragment, Sql } from '../connection/client.ts'
import { seesEveryTenant } from '../connection/row-security.ts'
import { firstIdAt } from '../reconciliation/missing-records.ts'

/** Records from before this time, and how many of them a batch deletes. */
export interface Old {
  readonly before: Date
  readonly limit: number
}

/** Deletes deliveries that ended, with their attempts. Returns the number of deliveries. */
export async function deleteOldDeliveries(sql: Sql, old: Old): Promise<number> {
  const condition = sql`entry.status <> 'pending'`
  const { count } = await sql`
    with ${oldRows(sql, 'webhook_deliveries', condition, old)},
    attempts as (
      delete from webhook_attempts using old
      where webhook_attempts.tenant_id = old.tenant_id and webhook_attempts.delivery_id = old.id
    )
    delete from webhook_deliveries as entry using old
    where ${seesEveryTenant(sql)} and entry.tenant_id = old.tenant_id and entry.id = old.id
  `
  return count
}

/** Deletes entries of timelines, unless their operation has no final answer yet. */
export async function deleteOldPhaseRuns(sql: Sql, old: Old): Promise<number> {
  const condition = sql`
    not exists (
      select from idempotency_keys
      where idempotency_keys.tenant_id = entry.tenant_id
        and idempotency_keys.id = entry.operation_id and idempotency_keys.status <> 'completed'
    )
  `
  const { count } = await sql`
    with ${oldRows(sql, 'phase_runs', condition, old)}
    delete from phase_runs as entry using old
    where ${seesEveryTenant(sql)} and entry.tenant_id = old.tenant_id and entry.id = old.id
  `
  return count
}

/** Deletes events that have no delivery any more. */
export async function deleteOldEvents(sql: Sql, old: Old): Promise<number> {
  const condition = sql`
    not exists (
      select from webhook_deliveries
      where webhook_deliveries.tenant_id = entry.tenant_id
        and webhook_deliveries.event_id = entry.id
    )
  `
  const { count } = await sql`
    with ${oldRows(sql, 'events', condition, old)}
    delete from events as entry using old
    where ${seesEveryTenant(sql)} and entry.tenant_id = old.tenant_id and entry.id = old.id
  `
  return count
}

/** Deletes records of what operators did. */
export async function deleteOldAdminActions(sql: Sql, { before, limit }: Old): Promise<number> {
  const { count } = await sql`
    with old as materialized (
      select id from admin_actions where id < ${firstIdAt(before.getTime())}
      order by id
      limit ${limit}
      for update skip locked
    )
    delete from admin_actions using old
    where ${seesEveryTenant(sql)} and admin_actions.id = old.id
  `
  return count
}

/**
 * The part `old` of a statement: the oldest rows of each tenant that meet the condition on `entry`.
 * What another worker deletes is skipped: two that waited for each other's rows would deadlock.
 */
function oldRows(
  sql: Sql,
  table: 'webhook_deliveries' | 'phase_runs' | 'events',
  condition: Fragment,
  { before, limit }: Old,
): Fragment {
  return sql`
    old as materialized (
      select found.tenant_id, found.id
      from tenants
      cross join lateral (
        select entry.tenant_id, entry.id from ${sql(table)} as entry
        where entry.tenant_id = tenants.id and entry.id < ${firstIdAt(before.getTime())}
          and ${condition}
        order by entry.id
        limit ${limit}
        for update of entry skip locked
      ) as found
      limit ${limit}
    )
  `
}
