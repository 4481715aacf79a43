-- When the provider releases the hold of a payment, and what the service still has to do about it.
-- No default: the columns rewrite no table. NOT VALID: they are new, so every row passes. Their index is a
-- migration of its own, because it reads the table.
ALTER TABLE "payments" ADD COLUMN IF NOT EXISTS "capture_before" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "payments" ADD COLUMN IF NOT EXISTS "expiry_step" text;--> statement-breakpoint
ALTER TABLE "payments" ADD CONSTRAINT "payments_expiry_step" CHECK (expiry_step is null
        or (capture_before is not null and expiry_step in ('announce', 'look', 'done'))) NOT VALID;