-- The second wall between tenants: what src/db/connection/row-security.ts says. Statements have to name the tenants whose rows
-- they see from now on, as those of the version before do already. No version older than that can run on it.
--
ALTER TABLE "events" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "idempotency_keys" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "key_tombstones" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "ledger_postings" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "payments" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "phase_runs" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "provider_events" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "reconciliation_findings" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "refunds" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "api_keys" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "tenants" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "webhook_attempts" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "webhook_deliveries" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "webhook_endpoints" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE POLICY "seen_by_its_tenant" ON "events" AS PERMISSIVE FOR ALL TO public USING ((select current_setting('atomic.tenants', true) = '*') or tenant_id = any ((select nullif(nullif(current_setting('atomic.tenants', true), '*'), '')::uuid[])::uuid[]));--> statement-breakpoint
CREATE POLICY "seen_by_its_tenant" ON "idempotency_keys" AS PERMISSIVE FOR ALL TO public USING ((select current_setting('atomic.tenants', true) = '*') or tenant_id = any ((select nullif(nullif(current_setting('atomic.tenants', true), '*'), '')::uuid[])::uuid[]));--> statement-breakpoint
CREATE POLICY "seen_by_its_tenant" ON "key_tombstones" AS PERMISSIVE FOR ALL TO public USING ((select current_setting('atomic.tenants', true) = '*') or tenant_id = any ((select nullif(nullif(current_setting('atomic.tenants', true), '*'), '')::uuid[])::uuid[]));--> statement-breakpoint
CREATE POLICY "seen_by_its_tenant" ON "ledger_postings" AS PERMISSIVE FOR ALL TO public USING ((select current_setting('atomic.tenants', true) = '*') or tenant_id = any ((select nullif(nullif(current_setting('atomic.tenants', true), '*'), '')::uuid[])::uuid[]));--> statement-breakpoint
CREATE POLICY "seen_by_its_tenant" ON "payments" AS PERMISSIVE FOR ALL TO public USING ((select current_setting('atomic.tenants', true) = '*') or tenant_id = any ((select nullif(nullif(current_setting('atomic.tenants', true), '*'), '')::uuid[])::uuid[]));--> statement-breakpoint
CREATE POLICY "seen_by_its_tenant" ON "phase_runs" AS PERMISSIVE FOR ALL TO public USING ((select current_setting('atomic.tenants', true) = '*') or tenant_id = any ((select nullif(nullif(current_setting('atomic.tenants', true), '*'), '')::uuid[])::uuid[]));--> statement-breakpoint
CREATE POLICY "seen_by_its_tenant" ON "provider_events" AS PERMISSIVE FOR ALL TO public USING ((select current_setting('atomic.tenants', true) = '*') or tenant_id = any ((select nullif(nullif(current_setting('atomic.tenants', true), '*'), '')::uuid[])::uuid[]));--> statement-breakpoint
CREATE POLICY "seen_by_its_tenant" ON "reconciliation_findings" AS PERMISSIVE FOR ALL TO public USING ((select current_setting('atomic.tenants', true) = '*') or tenant_id = any ((select nullif(nullif(current_setting('atomic.tenants', true), '*'), '')::uuid[])::uuid[]));--> statement-breakpoint
CREATE POLICY "seen_by_its_tenant" ON "refunds" AS PERMISSIVE FOR ALL TO public USING ((select current_setting('atomic.tenants', true) = '*') or tenant_id = any ((select nullif(nullif(current_setting('atomic.tenants', true), '*'), '')::uuid[])::uuid[]));--> statement-breakpoint
CREATE POLICY "seen_by_its_tenant" ON "api_keys" AS PERMISSIVE FOR ALL TO public USING ((select current_setting('atomic.tenants', true) = '*') or tenant_id = any ((select nullif(nullif(current_setting('atomic.tenants', true), '*'), '')::uuid[])::uuid[]));--> statement-breakpoint
CREATE POLICY "seen_by_its_tenant" ON "tenants" AS PERMISSIVE FOR ALL TO public USING ((select current_setting('atomic.tenants', true) = '*') or id = any ((select nullif(nullif(current_setting('atomic.tenants', true), '*'), '')::uuid[])::uuid[]));--> statement-breakpoint
CREATE POLICY "seen_by_its_tenant" ON "webhook_attempts" AS PERMISSIVE FOR ALL TO public USING ((select current_setting('atomic.tenants', true) = '*') or tenant_id = any ((select nullif(nullif(current_setting('atomic.tenants', true), '*'), '')::uuid[])::uuid[]));--> statement-breakpoint
CREATE POLICY "seen_by_its_tenant" ON "webhook_deliveries" AS PERMISSIVE FOR ALL TO public USING ((select current_setting('atomic.tenants', true) = '*') or tenant_id = any ((select nullif(nullif(current_setting('atomic.tenants', true), '*'), '')::uuid[])::uuid[]));--> statement-breakpoint
CREATE POLICY "seen_by_its_tenant" ON "webhook_endpoints" AS PERMISSIVE FOR ALL TO public USING ((select current_setting('atomic.tenants', true) = '*') or tenant_id = any ((select nullif(nullif(current_setting('atomic.tenants', true), '*'), '')::uuid[])::uuid[]));--> statement-breakpoint
-- Nobody is an exception, the owner of the tables included: superusers and roles with BYPASSRLS aside.
ALTER TABLE "events" FORCE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "idempotency_keys" FORCE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "key_tombstones" FORCE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "ledger_postings" FORCE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "payments" FORCE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "phase_runs" FORCE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "provider_events" FORCE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "reconciliation_findings" FORCE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "refunds" FORCE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "api_keys" FORCE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "tenants" FORCE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "webhook_attempts" FORCE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "webhook_deliveries" FORCE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "webhook_endpoints" FORCE ROW LEVEL SECURITY;--> statement-breakpoint
-- Finished keys are in no schema file (0006).
ALTER TABLE "finished_keys" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "finished_keys" FORCE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE POLICY "seen_by_its_tenant" ON "finished_keys" AS PERMISSIVE FOR ALL TO public USING ((select current_setting('atomic.tenants', true) = '*') or tenant_id = any ((select nullif(nullif(current_setting('atomic.tenants', true), '*'), '')::uuid[])::uuid[]));--> statement-breakpoint
-- What is looked up by way of the table obeys the table's policy. By the name of its day nobody sees a key, but for
-- the owner, as whom the two functions run.
DO $$
declare
  partition regclass;
begin
  for partition in select inhrelid::regclass from pg_inherits where inhparent = 'finished_keys'::regclass loop
    execute format('alter table %s enable row level security', partition);
  end loop;
end
$$;--> statement-breakpoint
CREATE OR REPLACE FUNCTION "make_finished_keys_day"("day" date) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '200ms'
AS $$
declare
  partition text := 'finished_keys_' || to_char(day, 'YYYYMMDD');
  begins timestamptz := day::timestamp at time zone 'UTC';
  ends timestamptz := (day + 1)::timestamp at time zone 'UTC';
begin
  if ends <= now() then
    raise exception 'the day % is over', day using errcode = 'object_not_in_prerequisite_state';
  end if;
  if to_regclass('public.' || partition) is not null then
    return false;
  end if;
  execute format('create table public.%I (like public.finished_keys including all)', partition);
  execute format('alter table public.%I enable row level security', partition);
  execute format(
    'alter table public.finished_keys attach partition public.%I for values from (%L) to (%L)',
    partition, begins, ends
  );
  return true;
exception
  -- Another worker was faster.
  when duplicate_table or unique_violation then return false;
end
$$;
