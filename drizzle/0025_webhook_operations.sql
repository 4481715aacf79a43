-- The operations by which a tenant changes, tests and replays its webhook endpoints, and disables them.
--
-- NOT VALID: every key that is there has passed a narrower rule, so that the large table does not have to be read while
-- it is locked. Every later write is checked.
ALTER TABLE "idempotency_keys" DROP CONSTRAINT "idempotency_keys_payment_named";--> statement-breakpoint
ALTER TABLE "webhook_endpoints" DROP CONSTRAINT "webhook_endpoints_disabled";--> statement-breakpoint
ALTER TABLE "idempotency_keys" ADD CONSTRAINT "idempotency_keys_payment_named" CHECK ((payment_id is null) = (operation in ('webhook_endpoint.create', 'webhook_endpoint.update', 'webhook_endpoint.rotate_secret', 'webhook_endpoint.replay', 'webhook_endpoint.test', 'webhook_endpoint.delete', 'webhook_delivery.redeliver'))) NOT VALID;--> statement-breakpoint
ALTER TABLE "webhook_endpoints" ADD CONSTRAINT "webhook_endpoints_disabled" CHECK ((status = 'disabled') = (disabled_reason is not null)
        and disabled_reason in ('gone', 'failing', 'requested'));