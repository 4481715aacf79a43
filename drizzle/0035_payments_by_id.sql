-- Lists the payments of all tenants for operators, and finds one by its id. Building the index reads all
-- payments, and no payment can be written meanwhile. On a large table, build it by hand first: see
-- docs/runbook.md.
CREATE INDEX IF NOT EXISTS "payments_by_id" ON "payments" USING btree ("id");
