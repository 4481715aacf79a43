-- A failure that the provider keeps as the result of a provider key, and the generation of the key that follows it.
-- Constant defaults: neither column rewrites the table.
ALTER TABLE "idempotency_keys" ADD COLUMN "failure_kept" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "idempotency_keys" ADD COLUMN "key_generation" smallint DEFAULT 0 NOT NULL;
