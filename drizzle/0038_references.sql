-- The client's own name of what is paid or returned, and whether a tenant must give one. No default, or a constant
-- one: the columns rewrite no table. Their indexes are a migration of their own, because they read the tables.
ALTER TABLE "payments" ADD COLUMN IF NOT EXISTS "reference" text;--> statement-breakpoint
ALTER TABLE "refunds" ADD COLUMN IF NOT EXISTS "reference" text;--> statement-breakpoint
ALTER TABLE "tenants" ADD COLUMN "requires_reference" boolean DEFAULT false NOT NULL;
