-- Finds the events that are deleted after their retention. On a large inbox, build it by hand first: see
-- docs/runbook.md.
CREATE INDEX IF NOT EXISTS "provider_events_settled" ON "provider_events" USING btree ("settled_at") WHERE settled_at is not null and type <> 'warning';
