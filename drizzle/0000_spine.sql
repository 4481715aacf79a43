CREATE TABLE "api_keys" (
	"tenant_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"prefix" text NOT NULL,
	"secret_hash" "bytea" NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"revoked_at" timestamp with time zone,
	CONSTRAINT "api_keys_tenant_id_id_pk" PRIMARY KEY("tenant_id","id"),
	CONSTRAINT "api_keys_secret_once" UNIQUE("secret_hash")
);
--> statement-breakpoint
CREATE TABLE "idempotency_keys" (
	"tenant_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"key" text NOT NULL,
	"fingerprint" "bytea" NOT NULL,
	"operation" text NOT NULL,
	"payment_id" uuid NOT NULL,
	"status" text DEFAULT 'pending' NOT NULL,
	"recovery_point" text DEFAULT 'started' NOT NULL,
	"lease_epoch" integer DEFAULT 0 NOT NULL,
	"lease_expires_at" timestamp with time zone,
	"attempts" integer DEFAULT 0 NOT NULL,
	"in_doubt" boolean DEFAULT false NOT NULL,
	"phase_began_at" timestamp with time zone,
	"last_error" text,
	"response_status" smallint,
	"response_headers" jsonb,
	"response_body" text,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"finished_at" timestamp with time zone,
	"expires_at" timestamp with time zone NOT NULL,
	CONSTRAINT "idempotency_keys_tenant_id_id_pk" PRIMARY KEY("tenant_id","id"),
	CONSTRAINT "idempotency_keys_one_per_key" UNIQUE("tenant_id","key"),
	CONSTRAINT "idempotency_keys_status" CHECK (status in ('pending', 'processing', 'completed', 'failed_retryable', 'unknown')),
	CONSTRAINT "idempotency_keys_key" CHECK (length(key) between 1 and 255),
	CONSTRAINT "idempotency_keys_lease" CHECK ((status = 'processing') = (lease_expires_at is not null)),
	CONSTRAINT "idempotency_keys_finished" CHECK ((status = 'completed') = (recovery_point = 'finished')
        and (status = 'completed') = (finished_at is not null)
        and (status = 'completed') = (response_status is not null)
        and (status = 'completed') = (response_headers is not null)
        and (status = 'completed') = (response_body is not null)),
	CONSTRAINT "idempotency_keys_response" CHECK (response_status between 200 and 299 or response_status between 400 and 499),
	CONSTRAINT "idempotency_keys_doubt" CHECK (case status when 'failed_retryable' then not in_doubt when 'unknown' then in_doubt else true end)
);
--> statement-breakpoint
CREATE TABLE "payments" (
	"tenant_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"amount_minor" bigint NOT NULL,
	"amount_captured_minor" bigint DEFAULT 0 NOT NULL,
	"amount_refunded_minor" bigint DEFAULT 0 NOT NULL,
	"currency" text NOT NULL,
	"status" text DEFAULT 'processing' NOT NULL,
	"capture_method" text NOT NULL,
	"payment_method" text NOT NULL,
	"customer" text,
	"description" text,
	"metadata" jsonb NOT NULL,
	"failure_code" text,
	"failure_decline_code" text,
	"failure_message" text,
	"provider" text NOT NULL,
	"provider_payment_id" text,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "payments_tenant_id_id_pk" PRIMARY KEY("tenant_id","id"),
	CONSTRAINT "payments_status" CHECK (status in ('processing', 'unknown', 'requires_capture', 'succeeded', 'declined', 'canceled', 'failed')),
	CONSTRAINT "payments_capture_method" CHECK (capture_method in ('automatic', 'manual')),
	CONSTRAINT "payments_amount" CHECK (amount_minor between 1 and 99999999),
	CONSTRAINT "payments_amounts_nest" CHECK (0 <= amount_refunded_minor and amount_refunded_minor <= amount_captured_minor and amount_captured_minor <= amount_minor),
	CONSTRAINT "payments_failure" CHECK (case status when 'declined' then failure_code is not null when 'failed' then true else failure_code is null end),
	CONSTRAINT "payments_provider_payment" CHECK (status not in ('requires_capture', 'succeeded') or provider_payment_id is not null),
	CONSTRAINT "payments_succeeded" CHECK (status <> 'succeeded' or amount_captured_minor > 0)
);
--> statement-breakpoint
CREATE TABLE "phase_runs" (
	"tenant_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"payment_id" uuid NOT NULL,
	"operation_id" uuid NOT NULL,
	"operation" text NOT NULL,
	"phase" text,
	"reached" text,
	"attempt" integer NOT NULL,
	"lease_epoch" integer NOT NULL,
	"outcome" text,
	"asked" jsonb,
	"answered" jsonb,
	"started_at" timestamp with time zone NOT NULL,
	"recorded_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "phase_runs_tenant_id_id_pk" PRIMARY KEY("tenant_id","id"),
	CONSTRAINT "phase_runs_outcome" CHECK (outcome in ('done', 'declined', 'not_executed', 'unknown')),
	CONSTRAINT "phase_runs_call" CHECK ((outcome is null) = (asked is null) and (asked is null) = (answered is null))
);
--> statement-breakpoint
CREATE TABLE "tenants" (
	"id" uuid PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "idempotency_keys" ADD CONSTRAINT "idempotency_keys_payment" FOREIGN KEY ("tenant_id","payment_id") REFERENCES "public"."payments"("tenant_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "payments" ADD CONSTRAINT "payments_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "phase_runs" ADD CONSTRAINT "phase_runs_payment" FOREIGN KEY ("tenant_id","payment_id") REFERENCES "public"."payments"("tenant_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "api_keys_by_prefix" ON "api_keys" USING btree ("prefix");--> statement-breakpoint
CREATE UNIQUE INDEX "payments_by_provider_payment" ON "payments" USING btree ("tenant_id","provider","provider_payment_id") WHERE provider_payment_id is not null;--> statement-breakpoint
CREATE INDEX "phase_runs_by_payment" ON "phase_runs" USING btree ("tenant_id","payment_id","id");--> statement-breakpoint
CREATE UNIQUE INDEX "phase_runs_reached_once" ON "phase_runs" USING btree ("tenant_id","operation_id","reached") WHERE reached is not null;