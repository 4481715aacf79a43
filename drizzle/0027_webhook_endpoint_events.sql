-- Events of webhook endpoints, which are about no payment.
--
-- NOT VALID: the column is new, and every event that is there names a payment, so that the large table does not have to
-- be read while it is locked. Every later write is checked.
ALTER TABLE "events" ALTER COLUMN "payment_id" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "events" ADD COLUMN "endpoint_id" uuid;--> statement-breakpoint
ALTER TABLE "events" ADD CONSTRAINT "events_endpoint" FOREIGN KEY ("tenant_id","endpoint_id") REFERENCES "public"."webhook_endpoints"("tenant_id","id") ON DELETE no action ON UPDATE no action NOT VALID;--> statement-breakpoint
ALTER TABLE "events" ADD CONSTRAINT "events_resource_named" CHECK ((payment_id is null) = (endpoint_id is not null)) NOT VALID;