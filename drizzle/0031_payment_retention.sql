-- Deletes the details of old payments. The row of the payment stays, because the ledger and the reconciliation refer to
-- it: see docs/decisions/0047. Nothing that can still change loses its history. An intruder in the service can delete
-- nothing younger than 400 days.
--
-- On a large table, build the index by hand first: see docs/runbook.md.
CREATE INDEX IF NOT EXISTS "payments_with_details" ON "payments" USING btree ("tenant_id","created_at") WHERE payment_method <> 'erased';
--> statement-breakpoint
CREATE FUNCTION "delete_old_payment_details"("before" timestamptz, "most" integer) RETURNS bigint
LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  with busy as (
    select payment_id from public.idempotency_keys where status in ('pending', 'processing')
    union all
    select payment_id from public.idempotency_keys where status = 'unknown'
    union all
    select payment_id from public.idempotency_keys where status = 'failed_retryable'
    union all
    select payment_id from public.reconciliation_findings where status = 'open'
  ),
  old as materialized (
    select found.tenant_id, found.id
    from public.tenants
    cross join lateral (
      select entry.tenant_id, entry.id from public.payments as entry
      where before <= now() - interval '400 days' and entry.tenant_id = tenants.id
        and entry.payment_method <> 'erased' and entry.created_at < before and entry.updated_at < before
        and entry.status in ('succeeded', 'declined', 'canceled')
        and entry.id not in (select payment_id from busy where payment_id is not null)
        and not exists (
          select from public.refunds
          where refunds.tenant_id = entry.tenant_id and refunds.payment_id = entry.id
            and (refunds.updated_at >= before or refunds.status not in ('succeeded', 'failed', 'declined', 'canceled'))
        )
        and not exists (
          select from public.disputes
          where disputes.tenant_id = entry.tenant_id and disputes.payment_id = entry.id
            and (disputes.updated_at >= before or disputes.status not in ('warning_closed', 'won', 'lost', 'prevented'))
        )
        and not exists (
          select from public.events
          join public.webhook_deliveries as delivery
            on delivery.tenant_id = events.tenant_id and delivery.event_id = events.id
          where events.tenant_id = entry.tenant_id and events.payment_id = entry.id and delivery.status = 'pending'
        )
      order by entry.created_at
      limit most
      for update of entry skip locked
    ) as found
    limit most
  ),
  old_event as materialized (
    select events.tenant_id, events.id
    from old join public.events on events.tenant_id = old.tenant_id and events.payment_id = old.id
  ),
  old_delivery as materialized (
    select delivery.tenant_id, delivery.id
    from old_event
    join public.webhook_deliveries as delivery
      on delivery.tenant_id = old_event.tenant_id and delivery.event_id = old_event.id
  ),
  attempts as (
    delete from public.webhook_attempts as entry using old_delivery
    where entry.tenant_id = old_delivery.tenant_id and entry.delivery_id = old_delivery.id
  ),
  deliveries as (
    delete from public.webhook_deliveries as entry using old_delivery
    where entry.tenant_id = old_delivery.tenant_id and entry.id = old_delivery.id
  ),
  events as (
    delete from public.events as entry using old_event
    where entry.tenant_id = old_event.tenant_id and entry.id = old_event.id
  ),
  entries as (
    delete from public.phase_runs as entry using old
    where entry.tenant_id = old.tenant_id and entry.payment_id = old.id
  ),
  refunds as (
    update public.refunds as entry set metadata = '{}' from old
    where entry.tenant_id = old.tenant_id and entry.payment_id = old.id
  ),
  deleted as (
    update public.payments as entry set
      payment_method = 'erased', customer = null, description = null, metadata = '{}', client_secret = null
    from old
    where entry.tenant_id = old.tenant_id and entry.id = old.id
    returning 1
  )
  select count(*) from deleted
$$;
--> statement-breakpoint
REVOKE ALL ON FUNCTION "delete_old_payment_details"(timestamptz, integer) FROM PUBLIC;
