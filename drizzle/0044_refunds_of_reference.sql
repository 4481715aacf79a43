-- For the list of the refunds with a reference. Building the index reads all refunds, which cannot be written
-- meanwhile. On a large table, build it by hand first: see docs/runbook.md.
CREATE INDEX IF NOT EXISTS "refunds_of_reference" ON "refunds" USING btree ("tenant_id","reference","id") WHERE reference is not null;
