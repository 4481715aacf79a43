ALTER TABLE "api_keys" ADD COLUMN "scopes" text[] DEFAULT '{"*"}' NOT NULL;--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "expires_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "tenants" ADD COLUMN "disabled_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_id_once" UNIQUE("id");--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_scopes" CHECK (cardinality(scopes) > 0);--> statement-breakpoint
-- Keys are ended by these two functions alone, so that the service needs no UPDATE of api_keys: what it can do,
-- and whoever has taken it over with it, is to end a key, and never to revive one or to give it further scopes.
CREATE FUNCTION "retire_api_key"("key_id" uuid, "grace" interval) RETURNS boolean
LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  update public.api_keys set expires_at = now() + greatest(grace, interval '0')
  where id = key_id and revoked_at is null and expires_at is null
  returning true
$$;
--> statement-breakpoint
CREATE FUNCTION "revoke_api_key"("key_id" uuid) RETURNS boolean
LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  update public.api_keys set revoked_at = now()
  where id = key_id and revoked_at is null
  returning true
$$;
--> statement-breakpoint
REVOKE ALL ON FUNCTION "retire_api_key"(uuid, interval) FROM PUBLIC;
--> statement-breakpoint
REVOKE ALL ON FUNCTION "revoke_api_key"(uuid) FROM PUBLIC;
