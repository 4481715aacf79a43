-- The cancellation of a key by its client.
--
-- NOT VALID: no key that is there was canceled, and each has passed a narrower rule, so that the large table does not have
-- to be read while it is locked. Every later write is checked.
ALTER TABLE "idempotency_keys" DROP CONSTRAINT "idempotency_keys_payment_named";--> statement-breakpoint
ALTER TABLE "idempotency_keys" ADD COLUMN "cancellation" text;--> statement-breakpoint
ALTER TABLE "idempotency_keys" ADD CONSTRAINT "idempotency_keys_cancellation" CHECK (cancellation is null or cancellation in ('in_progress', 'prevented', 'undone', 'nothing_to_undo', 'refused')) NOT VALID;--> statement-breakpoint
ALTER TABLE "idempotency_keys" ADD CONSTRAINT "idempotency_keys_payment_named" CHECK ((payment_id is null) = (operation in ('webhook_endpoint.create', 'webhook_endpoint.update', 'webhook_endpoint.rotate_secret', 'webhook_endpoint.replay', 'webhook_endpoint.test', 'webhook_endpoint.delete', 'webhook_delivery.redeliver', 'idempotency_key.cancel'))) NOT VALID;