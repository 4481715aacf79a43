CREATE TABLE "events" (
	"tenant_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"type" text NOT NULL,
	"payment_id" uuid NOT NULL,
	"refund_id" uuid,
	"object" jsonb NOT NULL,
	"idempotency_key" text,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "events_tenant_id_id_pk" PRIMARY KEY("tenant_id","id")
);
--> statement-breakpoint
CREATE TABLE "ledger_postings" (
	"tenant_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"transaction_id" uuid NOT NULL,
	"kind" text NOT NULL,
	"payment_id" uuid NOT NULL,
	"refund_id" uuid,
	"operation_id" uuid NOT NULL,
	"debit" text NOT NULL,
	"credit" text NOT NULL,
	"amount_minor" bigint NOT NULL,
	"currency" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "ledger_postings_tenant_id_id_pk" PRIMARY KEY("tenant_id","id"),
	CONSTRAINT "ledger_postings_once" UNIQUE("tenant_id","operation_id","kind","debit","credit"),
	CONSTRAINT "ledger_postings_kind" CHECK (kind in ('capture', 'refund')),
	CONSTRAINT "ledger_postings_refund_named" CHECK ((kind = 'refund') = (refund_id is not null)),
	CONSTRAINT "ledger_postings_debit" CHECK (debit in ('provider_receivable', 'merchant_payable', 'fees', 'refunds')),
	CONSTRAINT "ledger_postings_credit" CHECK (credit in ('provider_receivable', 'merchant_payable', 'fees', 'refunds')),
	CONSTRAINT "ledger_postings_moves" CHECK (debit <> credit and amount_minor > 0)
);
--> statement-breakpoint
CREATE TABLE "refunds" (
	"tenant_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"payment_id" uuid NOT NULL,
	"amount_minor" bigint NOT NULL,
	"currency" text NOT NULL,
	"status" text DEFAULT 'processing' NOT NULL,
	"previous_status" text,
	"reason" text,
	"metadata" jsonb NOT NULL,
	"failure_code" text,
	"failure_decline_code" text,
	"failure_message" text,
	"provider_refund_id" text,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "refunds_tenant_id_id_pk" PRIMARY KEY("tenant_id","id"),
	CONSTRAINT "refunds_status" CHECK (status in ('processing', 'unknown', 'failed', 'succeeded', 'declined')),
	CONSTRAINT "refunds_step" CHECK (case when previous_status is null then status = 'processing'
        else (previous_status, status) in (('processing', 'succeeded'), ('processing', 'declined'), ('processing', 'failed'), ('processing', 'unknown'), ('unknown', 'processing'), ('failed', 'processing')) end),
	CONSTRAINT "refunds_reason" CHECK (reason in ('duplicate', 'fraudulent', 'requested_by_customer')),
	CONSTRAINT "refunds_amount" CHECK (amount_minor between 1 and 99999999),
	CONSTRAINT "refunds_failure" CHECK ((status = 'declined') = (failure_code is not null)),
	CONSTRAINT "refunds_provider_refund" CHECK (status <> 'succeeded' or provider_refund_id is not null)
);
--> statement-breakpoint
ALTER TABLE "payments" DROP CONSTRAINT "payments_status";--> statement-breakpoint
ALTER TABLE "payments" DROP CONSTRAINT "payments_amounts_nest";--> statement-breakpoint
ALTER TABLE "payments" DROP CONSTRAINT "payments_provider_payment";--> statement-breakpoint
ALTER TABLE "idempotency_keys" ADD COLUMN "refund_id" uuid;--> statement-breakpoint
ALTER TABLE "idempotency_keys" ADD COLUMN "parameters" jsonb DEFAULT '{}'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "payments" ADD COLUMN "amount_refunding_minor" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "payments" ADD COLUMN "previous_status" text;--> statement-breakpoint
ALTER TABLE "payments" ADD COLUMN "client_secret" text;--> statement-breakpoint
ALTER TABLE "tenants" ADD COLUMN "fee_basis_points" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "tenants" ADD COLUMN "fee_fixed_minor" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "events" ADD CONSTRAINT "events_payment" FOREIGN KEY ("tenant_id","payment_id") REFERENCES "public"."payments"("tenant_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "ledger_postings" ADD CONSTRAINT "ledger_postings_payment" FOREIGN KEY ("tenant_id","payment_id") REFERENCES "public"."payments"("tenant_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "ledger_postings" ADD CONSTRAINT "ledger_postings_refund" FOREIGN KEY ("tenant_id","refund_id") REFERENCES "public"."refunds"("tenant_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "refunds" ADD CONSTRAINT "refunds_payment" FOREIGN KEY ("tenant_id","payment_id") REFERENCES "public"."payments"("tenant_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "events_by_payment" ON "events" USING btree ("tenant_id","payment_id","id");--> statement-breakpoint
CREATE INDEX "ledger_postings_by_transaction" ON "ledger_postings" USING btree ("tenant_id","transaction_id");--> statement-breakpoint
CREATE INDEX "ledger_postings_by_payment" ON "ledger_postings" USING btree ("tenant_id","payment_id");--> statement-breakpoint
CREATE INDEX "refunds_by_payment" ON "refunds" USING btree ("tenant_id","payment_id","id");--> statement-breakpoint
CREATE UNIQUE INDEX "refunds_by_provider_refund" ON "refunds" USING btree ("tenant_id","provider_refund_id") WHERE provider_refund_id is not null;--> statement-breakpoint
ALTER TABLE "idempotency_keys" ADD CONSTRAINT "idempotency_keys_refund" FOREIGN KEY ("tenant_id","refund_id") REFERENCES "public"."refunds"("tenant_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "payments" ADD CONSTRAINT "payments_step" CHECK (case when previous_status is null then status = 'processing'
        else (previous_status, status) in (('processing', 'processing'), ('processing', 'requires_action'), ('processing', 'requires_capture'), ('processing', 'succeeded'), ('processing', 'declined'), ('processing', 'canceled'), ('processing', 'failed'), ('processing', 'unknown'), ('requires_action', 'processing'), ('requires_capture', 'processing'), ('unknown', 'processing'), ('failed', 'processing')) end);--> statement-breakpoint
ALTER TABLE "payments" ADD CONSTRAINT "payments_status" CHECK (status in ('processing', 'requires_action', 'requires_capture', 'unknown', 'failed', 'succeeded', 'declined', 'canceled'));--> statement-breakpoint
ALTER TABLE "payments" ADD CONSTRAINT "payments_amounts_nest" CHECK (0 <= amount_refunded_minor and 0 <= amount_refunding_minor
        and amount_refunded_minor + amount_refunding_minor <= amount_captured_minor
        and amount_captured_minor <= amount_minor);--> statement-breakpoint
ALTER TABLE "payments" ADD CONSTRAINT "payments_provider_payment" CHECK (status not in ('requires_action', 'requires_capture', 'succeeded') or provider_payment_id is not null);--> statement-breakpoint
ALTER TABLE "tenants" ADD CONSTRAINT "tenants_fee" CHECK (fee_basis_points between 0 and 10000 and fee_fixed_minor >= 0);