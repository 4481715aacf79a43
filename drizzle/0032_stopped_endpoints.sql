-- Counts the endpoints that get no webhooks now. There are at most 20 for each tenant, so that it is built at once.
CREATE INDEX IF NOT EXISTS "webhook_endpoints_stopped" ON "webhook_endpoints" USING btree ("tenant_id") WHERE status = 'disabled' or (status = 'enabled' and paused_until is not null);
