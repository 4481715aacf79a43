-- Which tenant may charge which customer of the provider.
CREATE TABLE "provider_customers" (
	"tenant_id" uuid NOT NULL,
	"provider" text NOT NULL,
	"id" text NOT NULL,
	"assigned_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "provider_customers_tenant_id_provider_id_pk" PRIMARY KEY("tenant_id","provider","id"),
	CONSTRAINT "provider_customers_once" UNIQUE("provider","id")
);
--> statement-breakpoint
ALTER TABLE "provider_customers" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "provider_customers" ADD CONSTRAINT "provider_customers_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE POLICY "seen_by_its_tenant" ON "provider_customers" AS PERMISSIVE FOR ALL TO public USING ((select current_setting('atomic.tenants', true) = '*') or tenant_id = any ((select nullif(nullif(current_setting('atomic.tenants', true), '*'), '')::uuid[])::uuid[]));--> statement-breakpoint
ALTER TABLE "provider_customers" FORCE ROW LEVEL SECURITY;
