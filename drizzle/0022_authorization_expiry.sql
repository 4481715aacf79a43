-- When the provider releases the hold of a payment, and what the service still has to do about it.
-- No default: the columns rewrite no table. NOT VALID: they are new, so every row passes. The index is
-- empty at first, but reads the table once, and writes wait for that.
ALTER TABLE "payments" ADD COLUMN "capture_before" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "payments" ADD COLUMN "expiry_step" text;--> statement-breakpoint
CREATE INDEX "payments_expiring" ON "payments" USING btree ("capture_before") WHERE expiry_step in ('announce', 'look');--> statement-breakpoint
ALTER TABLE "payments" ADD CONSTRAINT "payments_expiry_step" CHECK (expiry_step is null
        or (capture_before is not null and expiry_step in ('announce', 'look', 'done'))) NOT VALID;