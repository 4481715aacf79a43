-- The limits that a tenant has of its own. No default: the columns rewrite no table, and null stands for the
-- setting of the same name.
ALTER TABLE "tenants" ADD COLUMN IF NOT EXISTS "rate_limit_writes" integer;--> statement-breakpoint
ALTER TABLE "tenants" ADD COLUMN IF NOT EXISTS "rate_limit_reads" integer;--> statement-breakpoint
ALTER TABLE "tenants" ADD COLUMN IF NOT EXISTS "max_active_keys" integer;--> statement-breakpoint
ALTER TABLE "tenants" ADD COLUMN IF NOT EXISTS "max_stored_keys" integer;--> statement-breakpoint
ALTER TABLE "tenants" ADD CONSTRAINT "tenants_limits" CHECK (least(rate_limit_writes, rate_limit_reads, max_active_keys, max_stored_keys) >= 0);
