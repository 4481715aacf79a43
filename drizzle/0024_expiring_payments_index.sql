-- Finds the holds that end soon. The index is empty at first, but building it reads all payments, and no
-- payment can be written meanwhile. On a large table, build it by hand first: see docs/runbook.md.
CREATE INDEX IF NOT EXISTS "payments_expiring" ON "payments" USING btree ("capture_before") WHERE expiry_step in ('announce', 'look');
