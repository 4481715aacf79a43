-- How often an idempotency key was used again. The counts are deleted with their key.
CREATE TABLE "key_replays" (
	"tenant_id" uuid NOT NULL,
	"operation_id" uuid NOT NULL,
	"replays" bigint NOT NULL,
	"conflicts" bigint NOT NULL,
	"mismatches" bigint NOT NULL,
	"first_at" timestamp with time zone NOT NULL,
	"last_at" timestamp with time zone NOT NULL,
	CONSTRAINT "key_replays_tenant_id_operation_id_pk" PRIMARY KEY("tenant_id","operation_id")
);
--> statement-breakpoint
ALTER TABLE "key_replays" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "key_replays" ADD CONSTRAINT "key_replays_key" FOREIGN KEY ("tenant_id","operation_id") REFERENCES "public"."idempotency_keys"("tenant_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE POLICY "seen_by_its_tenant" ON "key_replays" AS PERMISSIVE FOR ALL TO public USING ((select current_setting('atomic.tenants', true) = '*') or tenant_id = any ((select nullif(nullif(current_setting('atomic.tenants', true), '*'), '')::uuid[])::uuid[]));--> statement-breakpoint
ALTER TABLE "key_replays" FORCE ROW LEVEL SECURITY;
