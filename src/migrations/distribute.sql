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

insert into drizzle.distributed_tables (name)
  select name from new_tables union all select 'two_phases'
  on conflict do nothing;
