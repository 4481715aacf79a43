-- Finished keys by day, for KEY_PARTITIONS=daily: reaping them is dropping a day. drizzle cannot say how a
-- table is partitioned, so that these two tables are in no schema file; src/db/finished-keys.ts has
-- their statements. Without a partition the table costs a statement that looks into it nothing.
--
-- No foreign keys: dropping a day would have to lock payments and refunds. A row here was copied from one
-- that they held. The primary key has to name the day's column; that a key has one live row at most is
-- kept by the statements that reserve it.
CREATE TABLE "finished_keys" (
	"tenant_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"key" text NOT NULL,
	"fingerprint" "bytea" NOT NULL,
	"operation" text NOT NULL,
	"payment_id" uuid,
	"refund_id" uuid,
	"attempts" integer NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"finished_at" timestamp with time zone NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	"earlier" jsonb,
	"response_status" smallint NOT NULL,
	"response_headers" jsonb NOT NULL,
	"response_body" text NOT NULL,
	"copied_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "finished_keys_tenant_id_key_expires_at_pk" PRIMARY KEY("tenant_id","key","expires_at")
) PARTITION BY RANGE ("expires_at");
--> statement-breakpoint
-- Days whose keys all have tombstones, and since when that is known to be committed.
CREATE TABLE "finished_key_burials" (
	"day" date NOT NULL,
	"buried_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "finished_key_burials_day_pk" PRIMARY KEY("day")
);
--> statement-breakpoint
-- The service's role may change no schema. These two functions, which run as who migrates, are all that it
-- may have done to it: make the partition of a day that is not over, and drop one that nobody needs.
--
-- Made apart and attached, because CREATE TABLE ... PARTITION OF would lock out every reservation.
CREATE FUNCTION "make_finished_keys_day"("day" date) RETURNS boolean
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
--> statement-breakpoint
-- DETACH ... CONCURRENTLY cannot run inside a function. So the drop has to lock the table for a moment: it
-- waits for the lock 200 ms at most, which is how long reservations can be held up, and is tried again later.
CREATE FUNCTION "drop_finished_keys_day"("day" date, "settled_for" interval) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '200ms'
AS $$
declare
  partition text := 'finished_keys_' || to_char(day, 'YYYYMMDD');
  keys bigint;
  unburied bigint;
begin
  if (day + 1)::timestamp at time zone 'UTC' > now() then
    raise exception 'the keys of % have not all expired', day
      using errcode = 'object_not_in_prerequisite_state';
  end if;
  perform from public.finished_key_burials as burial
  where burial.day = drop_finished_keys_day.day and burial.buried_at < now() - settled_for;
  if not found then
    raise exception 'the keys of % are not buried for that long', day
      using errcode = 'object_not_in_prerequisite_state';
  end if;
  execute format(
    'select count(*), count(*) filter (where tombstone.tenant_id is null)
    from public.%I as finished
    left join public.key_tombstones as tombstone
      on tombstone.tenant_id = finished.tenant_id
      and tombstone.key_hash = sha256(convert_to(finished.key, ''UTF8''))
      and tombstone.buried_at >= finished.expires_at',
    partition
  ) into keys, unburied;
  if unburied > 0 then
    raise exception '% keys of % have no tombstone', unburied, day
      using errcode = 'object_not_in_prerequisite_state';
  end if;
  execute format('drop table public.%I', partition);
  delete from public.finished_key_burials as burial where burial.day = drop_finished_keys_day.day;
  return keys;
end
$$;
--> statement-breakpoint
REVOKE ALL ON FUNCTION "make_finished_keys_day"(date) FROM PUBLIC;
--> statement-breakpoint
REVOKE ALL ON FUNCTION "drop_finished_keys_day"(date, interval) FROM PUBLIC;
