ALTER TABLE "tenants" DROP CONSTRAINT "tenants_limits";--> statement-breakpoint
ALTER TABLE "tenants" ADD COLUMN "key_length_min" integer;--> statement-breakpoint
ALTER TABLE "tenants" ADD CONSTRAINT "tenants_limits" CHECK (least(
        rate_limit_writes, rate_limit_reads, max_active_keys, max_stored_keys, key_length_min
      ) >= 0);