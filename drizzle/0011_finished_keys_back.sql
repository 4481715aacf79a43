-- Moves the finished keys by day back to "idempotency_keys", where alone they are looked for from this version on.
-- The version before looks for each key in "finished_keys" too: the table and its functions stay as long as that
-- version may run, and a later migration drops them.
--
-- A worker of the version before that has KEY_PARTITIONS=daily goes on making copies, and deletes keys that have
-- a copy. So no copy is kept from here on.
CREATE FUNCTION "skip_finished_key"() RETURNS trigger
LANGUAGE plpgsql
AS $$ begin return null; end $$;
--> statement-breakpoint
CREATE TRIGGER "finished_keys_stay_empty" BEFORE INSERT ON "finished_keys"
FOR EACH ROW EXECUTE FUNCTION "skip_finished_key"();
--> statement-breakpoint
-- Waits for the workers that are deleting keys of which they have seen a copy, before the rows are read. Writes
-- of keys wait until the rows are moved; reads do not.
LOCK TABLE "idempotency_keys" IN SHARE ROW EXCLUSIVE MODE;
--> statement-breakpoint
-- Expired keys as well: the reaper writes their tombstones and deletes them, as it does with all others. A key
-- that is in both tables was copied and not deleted yet: its own row is as new as the copy, or newer.
WITH moved AS (
  DELETE FROM "finished_keys" RETURNING *
)
INSERT INTO "idempotency_keys" (
  "tenant_id", "id", "key", "fingerprint", "operation", "payment_id", "refund_id", "status", "recovery_point",
  "attempts", "created_at", "finished_at", "expires_at", "earlier", "response_status", "response_headers",
  "response_body"
)
SELECT
  "tenant_id", "id", "key", "fingerprint", "operation", "payment_id", "refund_id", 'completed', 'finished',
  "attempts", "created_at", "finished_at", "expires_at", "earlier", "response_status", "response_headers",
  "response_body"
FROM moved
WHERE (select set_config('atomic.tenants', '*', true)) is not null
ON CONFLICT DO NOTHING;
