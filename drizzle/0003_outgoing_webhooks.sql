CREATE TABLE "webhook_attempts" (
	"tenant_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"delivery_id" uuid NOT NULL,
	"number" integer NOT NULL,
	"started_at" timestamp with time zone NOT NULL,
	"latency_ms" integer NOT NULL,
	"http_status" smallint,
	"error" text,
	CONSTRAINT "webhook_attempts_tenant_id_id_pk" PRIMARY KEY("tenant_id","id"),
	CONSTRAINT "webhook_attempts_once" UNIQUE("tenant_id","delivery_id","number"),
	CONSTRAINT "webhook_attempts_number" CHECK (number >= 1 and latency_ms >= 0),
	CONSTRAINT "webhook_attempts_answer" CHECK ((http_status is null) = (error is not null)),
	CONSTRAINT "webhook_attempts_http_status" CHECK (http_status between 100 and 999),
	CONSTRAINT "webhook_attempts_error" CHECK (error in ('url_refused', 'body_too_large', 'name_not_resolved', 'address_refused', 'connection_failed', 'timeout'))
);
--> statement-breakpoint
CREATE TABLE "webhook_deliveries" (
	"tenant_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"event_id" uuid NOT NULL,
	"endpoint_id" uuid NOT NULL,
	"status" text DEFAULT 'pending' NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"schedule_step" integer DEFAULT 0 NOT NULL,
	"next_attempt_at" timestamp with time zone,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "webhook_deliveries_tenant_id_id_pk" PRIMARY KEY("tenant_id","id"),
	CONSTRAINT "webhook_deliveries_once" UNIQUE("tenant_id","event_id","endpoint_id"),
	CONSTRAINT "webhook_deliveries_status" CHECK (status in ('pending', 'succeeded', 'failed')),
	CONSTRAINT "webhook_deliveries_next" CHECK ((status = 'pending') = (next_attempt_at is not null)),
	CONSTRAINT "webhook_deliveries_counts" CHECK (attempts >= 0 and schedule_step >= 0)
);
--> statement-breakpoint
CREATE TABLE "webhook_endpoints" (
	"tenant_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"slot" smallint,
	"url" text NOT NULL,
	"description" text,
	"event_types" text[] NOT NULL,
	"secret" text,
	"previous_secret" text,
	"previous_secret_expires_at" timestamp with time zone,
	"status" text DEFAULT 'enabled' NOT NULL,
	"disabled_reason" text,
	"failing_since" timestamp with time zone,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "webhook_endpoints_tenant_id_id_pk" PRIMARY KEY("tenant_id","id"),
	CONSTRAINT "webhook_endpoints_one_per_slot" UNIQUE("tenant_id","slot"),
	CONSTRAINT "webhook_endpoints_status" CHECK (status in ('enabled', 'disabled', 'deleted')),
	CONSTRAINT "webhook_endpoints_event_types" CHECK (cardinality(event_types) > 0),
	CONSTRAINT "webhook_endpoints_slot" CHECK ((status = 'deleted') = (slot is null)
        and slot between 1 and 20),
	CONSTRAINT "webhook_endpoints_secret" CHECK ((status = 'deleted') = (secret is null)),
	CONSTRAINT "webhook_endpoints_previous_secret" CHECK ((previous_secret is null) = (previous_secret_expires_at is null)
        and (previous_secret is null or secret is not null)),
	CONSTRAINT "webhook_endpoints_disabled" CHECK ((status = 'disabled') = (disabled_reason is not null)
        and disabled_reason in ('gone', 'failing'))
);
--> statement-breakpoint
ALTER TABLE "idempotency_keys" ALTER COLUMN "payment_id" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "webhook_attempts" ADD CONSTRAINT "webhook_attempts_delivery" FOREIGN KEY ("tenant_id","delivery_id") REFERENCES "public"."webhook_deliveries"("tenant_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "webhook_deliveries" ADD CONSTRAINT "webhook_deliveries_event" FOREIGN KEY ("tenant_id","event_id") REFERENCES "public"."events"("tenant_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "webhook_deliveries" ADD CONSTRAINT "webhook_deliveries_endpoint" FOREIGN KEY ("tenant_id","endpoint_id") REFERENCES "public"."webhook_endpoints"("tenant_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "webhook_endpoints" ADD CONSTRAINT "webhook_endpoints_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "webhook_deliveries_by_endpoint" ON "webhook_deliveries" USING btree ("tenant_id","endpoint_id","id");--> statement-breakpoint
CREATE INDEX "webhook_endpoints_enabled" ON "webhook_endpoints" USING btree ("tenant_id") WHERE status = 'enabled';--> statement-breakpoint
ALTER TABLE "idempotency_keys" ADD CONSTRAINT "idempotency_keys_payment_named" CHECK ((payment_id is null) = (operation in ('webhook_endpoint.create', 'webhook_endpoint.rotate_secret', 'webhook_endpoint.delete', 'webhook_delivery.redeliver')));