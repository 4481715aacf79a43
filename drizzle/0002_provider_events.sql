CREATE TABLE "provider_events" (
	"provider" text NOT NULL,
	"id" text NOT NULL,
	"type" text NOT NULL,
	"object_id" text NOT NULL,
	"provider_payment_id" text,
	"tenant_id" uuid,
	"payment_id" uuid,
	"status" text DEFAULT 'pending' NOT NULL,
	"occurred_at" timestamp with time zone NOT NULL,
	"received_at" timestamp with time zone DEFAULT now() NOT NULL,
	"settled_at" timestamp with time zone,
	CONSTRAINT "provider_events_provider_id_pk" PRIMARY KEY("provider","id"),
	CONSTRAINT "provider_events_status" CHECK (status in ('pending', 'applied', 'ignored', 'unmatched')),
	CONSTRAINT "provider_events_settled" CHECK ((status = 'pending') = (settled_at is null)),
	CONSTRAINT "provider_events_subject" CHECK ((tenant_id is null) = (payment_id is null))
);
--> statement-breakpoint
CREATE INDEX "provider_events_open" ON "provider_events" USING btree ("received_at") WHERE status in ('pending', 'unmatched');