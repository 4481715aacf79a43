-- These functions alone delete old records, so that the service needs no right to delete history. Whoever takes the
-- service over can delete only what is older than a day. Each call deletes at most `most` rows. It skips the rows that
-- another session deletes, because two sessions that wait for each other's rows deadlock.
--
-- Ids are UUIDv7 and sort by time, so that the primary keys find the oldest rows of each tenant.
CREATE FUNCTION "first_id_at"("at" timestamptz) RETURNS uuid
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
  select (lpad(to_hex(greatest(0, floor(extract(epoch from at) * 1000))::bigint), 12, '0') || repeat('0', 20))::uuid
$$;
--> statement-breakpoint
CREATE FUNCTION "delete_old_deliveries"("before" timestamptz, "most" integer) RETURNS bigint
LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  with old as materialized (
    select found.tenant_id, found.id
    from public.tenants
    cross join lateral (
      select entry.tenant_id, entry.id from public.webhook_deliveries as entry
      where entry.tenant_id = tenants.id and entry.id < public.first_id_at(before) and entry.status <> 'pending'
      order by entry.id
      limit most
      for update of entry skip locked
    ) as found
    limit most
  ),
  attempts as (
    delete from public.webhook_attempts using old
    where before <= now() - interval '1 day'
      and webhook_attempts.tenant_id = old.tenant_id and webhook_attempts.delivery_id = old.id
  ),
  deleted as (
    delete from public.webhook_deliveries as entry using old
    where before <= now() - interval '1 day' and entry.tenant_id = old.tenant_id and entry.id = old.id
    returning 1
  )
  select count(*) from deleted
$$;
--> statement-breakpoint
REVOKE ALL ON FUNCTION "delete_old_deliveries"(timestamptz, integer) FROM PUBLIC;
--> statement-breakpoint
CREATE FUNCTION "delete_old_phase_runs"("before" timestamptz, "most" integer) RETURNS bigint
LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  with old as materialized (
    select found.tenant_id, found.id
    from public.tenants
    cross join lateral (
      select entry.tenant_id, entry.id from public.phase_runs as entry
      where entry.tenant_id = tenants.id and entry.id < public.first_id_at(before) and not exists (
        -- The operation has no final answer yet.
        select from public.idempotency_keys
        where idempotency_keys.tenant_id = entry.tenant_id
          and idempotency_keys.id = entry.operation_id and idempotency_keys.status <> 'completed'
      )
      order by entry.id
      limit most
      for update of entry skip locked
    ) as found
    limit most
  ),
  deleted as (
    delete from public.phase_runs as entry using old
    where before <= now() - interval '1 day' and entry.tenant_id = old.tenant_id and entry.id = old.id
    returning 1
  )
  select count(*) from deleted
$$;
--> statement-breakpoint
REVOKE ALL ON FUNCTION "delete_old_phase_runs"(timestamptz, integer) FROM PUBLIC;
--> statement-breakpoint
CREATE FUNCTION "delete_old_events"("before" timestamptz, "most" integer) RETURNS bigint
LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  with old as materialized (
    select found.tenant_id, found.id
    from public.tenants
    cross join lateral (
      select entry.tenant_id, entry.id from public.events as entry
      where entry.tenant_id = tenants.id and entry.id < public.first_id_at(before) and not exists (
        select from public.webhook_deliveries
        where webhook_deliveries.tenant_id = entry.tenant_id
          and webhook_deliveries.event_id = entry.id
      )
      order by entry.id
      limit most
      for update of entry skip locked
    ) as found
    limit most
  ),
  deleted as (
    delete from public.events as entry using old
    where before <= now() - interval '1 day' and entry.tenant_id = old.tenant_id and entry.id = old.id
    returning 1
  )
  select count(*) from deleted
$$;
--> statement-breakpoint
REVOKE ALL ON FUNCTION "delete_old_events"(timestamptz, integer) FROM PUBLIC;
--> statement-breakpoint
CREATE FUNCTION "delete_old_admin_actions"("before" timestamptz, "most" integer) RETURNS bigint
LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  with old as materialized (
    select id from public.admin_actions
    where id < public.first_id_at(before)
    order by id
    limit most
    for update skip locked
  ),
  deleted as (
    delete from public.admin_actions as entry using old
    where before <= now() - interval '1 day' and entry.id = old.id
    returning 1
  )
  select count(*) from deleted
$$;
--> statement-breakpoint
REVOKE ALL ON FUNCTION "delete_old_admin_actions"(timestamptz, integer) FROM PUBLIC;
