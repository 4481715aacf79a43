-- One order, one charge. The indexes are empty at first, but building them reads all payments and refunds, which
-- cannot be written meanwhile. On a large table, build them by hand first: see docs/runbook.md.
CREATE UNIQUE INDEX IF NOT EXISTS "payments_by_reference" ON "payments" USING btree ("tenant_id","reference") WHERE reference is not null and status not in ('declined', 'canceled', 'failed');--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "payments_of_reference" ON "payments" USING btree ("tenant_id","reference","id") WHERE reference is not null;--> statement-breakpoint
CREATE UNIQUE INDEX IF NOT EXISTS "refunds_by_reference" ON "refunds" USING btree ("tenant_id","reference") WHERE reference is not null and status not in ('declined', 'canceled', 'failed');
