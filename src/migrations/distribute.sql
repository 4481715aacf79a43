-- Distributes the tables over the nodes of Citus: `npm run migrate -- --citus`. It may run again, also
-- after a new version has added tables. See docs/scale.md.
--
-- Rows of a tenant are together on one node. What has no tenant in its unique constraint is on every
-- node (a reference table). Everything else stays on the coordinator: jobs, the inbox of provider
-- events, findings, the audit log, sessions of the console, which processes run.
create table if not exists drizzle.distributed_tables (name text primary key);

-- Stays empty. A transaction that changes it commits in two phases: rows of tenants on their node, and
-- rows of the coordinator, such as jobs, are committed together or not at all. Without it, Citus would
-- commit the node first. So each change of a table of the coordinator changes it: see below.
create table if not exists drizzle.two_phases (id integer primary key);

do $$
begin
  if to_regproc('create_distributed_table') is null then
    raise 'the extension citus is not installed in this database';
  end if;
end $$;

-- The tables that are not distributed yet, in the order in which they can be.
create temporary table new_tables on commit drop as
  select name, place, name in ('tenants', 'api_keys', 'provider_customers') as is_reference
  from unnest(array[
    'tenants', 'api_keys', 'provider_customers', 'payments', 'refunds', 'disputes', 'idempotency_keys',
    'key_replays', 'key_tombstones', 'phase_runs', 'ledger_postings', 'webhook_endpoints', 'events',
    'webhook_deliveries', 'webhook_attempts'
  ]) with ordinality as listed (name, place)
  where name not in (select name from drizzle.distributed_tables);

-- A foreign key may not lead from or to a table while it is distributed.
create temporary table kept_foreign_keys on commit drop as
  select conname as name, conrelid::regclass as of, pg_get_constraintdef(oid) as definition
  from pg_constraint
  where contype = 'f' and connamespace = 'public'::regnamespace
    and conrelid::regclass::text in (select name from new_tables);

select citus_add_local_table_to_metadata('drizzle.two_phases')
  where 'two_phases' not in (select name from drizzle.distributed_tables);

do $$
declare
  kept record;
  policy record;
  added record;
begin
  for kept in select * from kept_foreign_keys loop
    execute format('alter table %s drop constraint %I', kept.of, kept.name);
  end loop;
  -- Citus refuses policies with sub-selects. They only saved evaluating the setting for each row.
  for policy in
    select tablename as name, case tablename when 'tenants' then 'id' else 'tenant_id' end as tenant
    from pg_policies
    where schemaname = 'public' and policyname = 'seen_by_its_tenant' and qual like '%SELECT%'
      and tablename in (select name from new_tables)
  loop
    execute format(
      $policy$
        alter policy seen_by_its_tenant on %I using (
          current_setting('atomic.tenants', true) = '*'
          or %I = any (nullif(nullif(current_setting('atomic.tenants', true), '*'), '')::uuid[])
        )
      $policy$,
      policy.name, policy.tenant
    );
  end loop;
  for added in select name::regclass as name, is_reference from new_tables order by place loop
    if added.is_reference then
      perform create_reference_table(added.name);
    elsif added.name = 'payments'::regclass then
      perform create_distributed_table(added.name, 'tenant_id');
    else
      perform create_distributed_table(added.name, 'tenant_id', colocate_with => 'payments');
    end if;
  end loop;
  for kept in select * from kept_foreign_keys loop
    execute format(
      'alter table %s add constraint %I %s',
      kept.of, kept.name, replace(kept.definition, ' NOT VALID', '')
    );
  end loop;
end $$;

-- Citus passes what a transaction sets by `set local` on to the other nodes: the tenants that it sees.
do $$
begin
  execute format(
    'alter database %I set citus.propagate_set_commands = ''local''', current_database()
  );
end $$;

create or replace function drizzle.commit_in_two_phases() returns trigger language plpgsql as $$
begin
  update drizzle.two_phases set id = 0 where id = 0;
  return null;
end $$;

do $$
declare
  own record;
begin
  for own in
    select relation.oid::regclass as name
    from pg_class as relation join pg_namespace as schema on schema.oid = relation.relnamespace
    where relation.relkind in ('r', 'p') and not relation.relispartition
      and (
        schema.nspname = 'atomic_jobs' and relation.relname = 'job'
        or schema.nspname = 'public'
          and relation.oid not in (select logicalrelid from pg_dist_partition)
      )
  loop
    execute format(
      'create or replace trigger commit_in_two_phases after insert or update or delete on %s
        for each statement execute function drizzle.commit_in_two_phases()',
      own.name
    );
  end loop;
end $$;

-- The functions that delete old records: tenant by tenant, so that each statement goes to one node.
-- What they may delete is the same: see drizzle/0000_schema.sql.
create or replace function see_every_tenant() returns void language plpgsql as $$
begin
  -- A setting made by a function would not reach the other nodes.
  set local citus.propagate_set_commands = 'local';
  set local atomic.tenants = '*';
end $$;
revoke all on function see_every_tenant() from public;

create or replace function delete_deliveries_before(before timestamptz, most integer) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  newest uuid := public.first_id_at(before);
  tenant uuid;
  old uuid[];
  count bigint;
  deleted bigint := 0;
begin
  if before > now() - interval '1 day' then return 0; end if;
  perform public.see_every_tenant();
  for tenant in select id from public.tenants loop
    old := array(
      select id from public.webhook_deliveries
      where tenant_id = tenant and id < newest and status <> 'pending'
      order by id limit most - deleted
    );
    delete from public.webhook_attempts where tenant_id = tenant and delivery_id = any (old);
    delete from public.webhook_deliveries where tenant_id = tenant and id = any (old);
    get diagnostics count = row_count;
    deleted := deleted + count;
    exit when deleted >= most;
  end loop;
  return deleted;
end $$;

create or replace function delete_phase_runs_before(before timestamptz, most integer) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  newest uuid := public.first_id_at(before);
  tenant uuid;
  old uuid[];
  count bigint;
  deleted bigint := 0;
begin
  if before > now() - interval '1 day' then return 0; end if;
  perform public.see_every_tenant();
  for tenant in select id from public.tenants loop
    old := array(
      select entry.id from public.phase_runs as entry
      where entry.tenant_id = tenant and entry.id < newest and not exists (
        select 1 from public.idempotency_keys as operation
        where operation.tenant_id = tenant and operation.id = entry.operation_id
          and operation.status <> 'completed'
      )
      order by entry.id limit most - deleted
    );
    delete from public.phase_runs where tenant_id = tenant and id = any (old);
    get diagnostics count = row_count;
    deleted := deleted + count;
    exit when deleted >= most;
  end loop;
  return deleted;
end $$;

create or replace function delete_events_before(before timestamptz, most integer) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  newest uuid := public.first_id_at(before);
  tenant uuid;
  old uuid[];
  count bigint;
  deleted bigint := 0;
begin
  if before > now() - interval '1 day' then return 0; end if;
  perform public.see_every_tenant();
  for tenant in select id from public.tenants loop
    old := array(
      select entry.id from public.events as entry
      where entry.tenant_id = tenant and entry.id < newest and not exists (
        select 1 from public.webhook_deliveries as delivery
        where delivery.tenant_id = tenant and delivery.event_id = entry.id
      )
      order by entry.id limit most - deleted
    );
    delete from public.events where tenant_id = tenant and id = any (old);
    get diagnostics count = row_count;
    deleted := deleted + count;
    exit when deleted >= most;
  end loop;
  return deleted;
end $$;

create or replace function delete_payment_details_before(before timestamptz, most integer) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  tenant uuid;
  doubted uuid[];
  old uuid[];
  old_events uuid[];
  old_deliveries uuid[];
  count bigint;
  deleted bigint := 0;
begin
  if before > now() - interval '400 days' then return 0; end if;
  perform public.see_every_tenant();
  doubted := array(
    select payment_id from public.reconciliation_findings
    where status = 'open' and payment_id is not null
  );
  for tenant in select id from public.tenants loop
    old := array(
      select entry.id from public.payments as entry
      where entry.tenant_id = tenant and entry.payment_method <> 'erased'
        and entry.created_at < before and entry.updated_at < before
        and entry.status in ('succeeded', 'declined', 'canceled')
        and entry.id <> all (doubted)
        and not exists (
          select 1 from public.idempotency_keys as operation
          where operation.tenant_id = tenant and operation.payment_id = entry.id
            and operation.status in ('pending', 'processing', 'unknown', 'failed_retryable')
        )
        and not exists (
          select 1 from public.refunds
          where refunds.tenant_id = tenant and refunds.payment_id = entry.id and (
            refunds.updated_at >= before
            or refunds.status not in ('succeeded', 'failed', 'declined', 'canceled')
          )
        )
        and not exists (
          select 1 from public.disputes
          where disputes.tenant_id = tenant and disputes.payment_id = entry.id and (
            disputes.updated_at >= before
            or disputes.status not in ('warning_closed', 'won', 'lost', 'prevented')
          )
        )
        and not exists (
          select 1 from public.events
          join public.webhook_deliveries as delivery
            on delivery.tenant_id = tenant and delivery.event_id = events.id
          where events.tenant_id = tenant and events.payment_id = entry.id
            and delivery.status = 'pending'
        )
      order by entry.created_at limit most - deleted
    );
    old_events := array(
      select id from public.events where tenant_id = tenant and payment_id = any (old)
    );
    old_deliveries := array(
      select id from public.webhook_deliveries
      where tenant_id = tenant and event_id = any (old_events)
    );
    delete from public.webhook_attempts
      where tenant_id = tenant and delivery_id = any (old_deliveries);
    delete from public.webhook_deliveries where tenant_id = tenant and id = any (old_deliveries);
    delete from public.events where tenant_id = tenant and id = any (old_events);
    delete from public.phase_runs where tenant_id = tenant and payment_id = any (old);
    update public.refunds set metadata = '{}' where tenant_id = tenant and payment_id = any (old);
    update public.payments set
      payment_method = 'erased', customer = null, description = null, metadata = '{}',
      client_secret = null
      where tenant_id = tenant and id = any (old) and payment_method <> 'erased';
    get diagnostics count = row_count;
    deleted := deleted + count;
    exit when deleted >= most;
  end loop;
  return deleted;
end $$;

insert into drizzle.distributed_tables (name)
  select name from new_tables union all select 'two_phases'
  on conflict do nothing;
