CREATE TABLE "admin_actions" (
	"id" uuid NOT NULL,
	"actor" text NOT NULL,
	"action" text NOT NULL,
	"subject" text,
	"details" jsonb NOT NULL,
	"happened_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "admin_actions_id_pk" PRIMARY KEY("id")
);
--> statement-breakpoint
CREATE TABLE "key_tombstones" (
	"tenant_id" uuid NOT NULL,
	"key_hash" "bytea" NOT NULL,
	"payment_id" uuid,
	"refund_id" uuid,
	"location" text,
	"expired_at" timestamp with time zone NOT NULL,
	"buried_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "key_tombstones_tenant_id_key_hash_pk" PRIMARY KEY("tenant_id","key_hash"),
	CONSTRAINT "key_tombstones_hash" CHECK (length(key_hash) = 32)
);
--> statement-breakpoint
CREATE TABLE "reconciliation_findings" (
	"id" uuid NOT NULL,
	"provider" text NOT NULL,
	"kind" text NOT NULL,
	"object_id" text NOT NULL,
	"run_id" uuid,
	"tenant_id" uuid,
	"payment_id" uuid,
	"refund_id" uuid,
	"operation_id" uuid,
	"ours" jsonb,
	"theirs" jsonb,
	"status" text DEFAULT 'open' NOT NULL,
	"opened_at" timestamp with time zone DEFAULT now() NOT NULL,
	"resolved_at" timestamp with time zone,
	"resolved_by" text,
	"note" text,
	CONSTRAINT "reconciliation_findings_id_pk" PRIMARY KEY("id"),
	CONSTRAINT "reconciliation_findings_once" UNIQUE("provider","kind","object_id"),
	CONSTRAINT "reconciliation_findings_kind" CHECK (kind in ('outcome_unknown', 'operation_abandoned', 'missing_here', 'missing_there', 'amount_differs', 'currency_differs', 'status_differs', 'ledger_differs', 'charged_twice')),
	CONSTRAINT "reconciliation_findings_status" CHECK (status in ('open', 'resolved')),
	CONSTRAINT "reconciliation_findings_resolved" CHECK ((status = 'resolved') = (resolved_at is not null)
        and (status = 'resolved') = (resolved_by is not null)),
	CONSTRAINT "reconciliation_findings_subject" CHECK (tenant_id is not null or (payment_id is null and refund_id is null and operation_id is null))
);
--> statement-breakpoint
CREATE TABLE "reconciliation_runs" (
	"id" uuid NOT NULL,
	"provider" text NOT NULL,
	"window_from" timestamp with time zone NOT NULL,
	"window_to" timestamp with time zone NOT NULL,
	"status" text DEFAULT 'pending' NOT NULL,
	"requested_by" text NOT NULL,
	"counts" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"last_error" text,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"finished_at" timestamp with time zone,
	CONSTRAINT "reconciliation_runs_id_pk" PRIMARY KEY("id"),
	CONSTRAINT "reconciliation_runs_window" CHECK (window_from < window_to),
	CONSTRAINT "reconciliation_runs_status" CHECK (status in ('pending', 'running', 'completed', 'failed')),
	CONSTRAINT "reconciliation_runs_finished" CHECK ((status in ('completed', 'failed')) = (finished_at is not null))
);
--> statement-breakpoint
CREATE TABLE "reconciliation_seen" (
	"run_id" uuid NOT NULL,
	"object_id" text NOT NULL,
	CONSTRAINT "reconciliation_seen_run_id_object_id_pk" PRIMARY KEY("run_id","object_id")
);
--> statement-breakpoint
ALTER TABLE "idempotency_keys" ADD COLUMN "job_id" uuid;--> statement-breakpoint
ALTER TABLE "idempotency_keys" ADD COLUMN "unknown_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "idempotency_keys" ADD COLUMN "next_check_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "idempotency_keys" ADD COLUMN "checked_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "idempotency_keys" ADD COLUMN "evidence" jsonb;--> statement-breakpoint
ALTER TABLE "idempotency_keys" ADD COLUMN "earlier" jsonb;--> statement-breakpoint
ALTER TABLE "key_tombstones" ADD CONSTRAINT "key_tombstones_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "reconciliation_findings" ADD CONSTRAINT "reconciliation_findings_run" FOREIGN KEY ("run_id") REFERENCES "public"."reconciliation_runs"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "reconciliation_seen" ADD CONSTRAINT "reconciliation_seen_run" FOREIGN KEY ("run_id") REFERENCES "public"."reconciliation_runs"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "admin_actions_by_subject" ON "admin_actions" USING btree ("subject","happened_at");--> statement-breakpoint
CREATE INDEX "key_tombstones_oldest" ON "key_tombstones" USING btree ("buried_at");--> statement-breakpoint
CREATE INDEX "reconciliation_findings_open" ON "reconciliation_findings" USING btree ("opened_at") WHERE status = 'open';--> statement-breakpoint
CREATE INDEX "reconciliation_findings_of_run" ON "reconciliation_findings" USING btree ("run_id");--> statement-breakpoint
CREATE INDEX "reconciliation_runs_newest" ON "reconciliation_runs" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "idempotency_keys_unfinished" ON "idempotency_keys" USING btree ("created_at") WHERE status in ('pending', 'processing');--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "idempotency_keys_to_check" ON "idempotency_keys" USING btree ("next_check_at") WHERE status = 'unknown';--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "idempotency_keys_unknown_payment" ON "idempotency_keys" USING btree ("tenant_id","payment_id") WHERE status = 'unknown';--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "idempotency_keys_expired" ON "idempotency_keys" USING btree ("expires_at") WHERE status in ('completed', 'failed_retryable');--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "provider_events_by_payment" ON "provider_events" USING btree ("tenant_id","payment_id") WHERE payment_id is not null;--> statement-breakpoint
-- What is unknown since before there was a reconciler is its first work.
UPDATE "idempotency_keys" SET "unknown_at" = now(), "next_check_at" = now() WHERE "status" = 'unknown';--> statement-breakpoint
ALTER TABLE "idempotency_keys" ADD CONSTRAINT "idempotency_keys_unknown" CHECK (status = 'unknown' or (next_check_at is null and checked_at is null));