-- Disputes, what of them is posted to the ledger, and which events of the provider are about them.
--
-- NOT VALID: the columns are new, and every row that is there has passed a narrower rule, so that no large table has to
-- be read while it is locked. Every later write is checked.
CREATE TABLE "disputes" (
	"tenant_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"payment_id" uuid NOT NULL,
	"provider_dispute_id" text NOT NULL,
	"amount_minor" bigint NOT NULL,
	"currency" text NOT NULL,
	"reason" text NOT NULL,
	"status" text NOT NULL,
	"evidence_due_at" timestamp with time zone,
	"withdrawn_minor" bigint DEFAULT 0 NOT NULL,
	"reinstated_minor" bigint DEFAULT 0 NOT NULL,
	"fee_minor" bigint DEFAULT 0 NOT NULL,
	"fee_currency" text,
	"opened_at" timestamp with time zone NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "disputes_tenant_id_id_pk" PRIMARY KEY("tenant_id","id"),
	CONSTRAINT "disputes_one_per_provider_dispute" UNIQUE("tenant_id","provider_dispute_id"),
	CONSTRAINT "disputes_status" CHECK (status in ('warning_needs_response', 'warning_under_review', 'warning_closed', 'needs_response', 'under_review', 'appeal_needs_response', 'appeal_under_review', 'won', 'lost', 'prevented')),
	CONSTRAINT "disputes_amounts" CHECK (amount_minor > 0 and withdrawn_minor >= 0 and reinstated_minor >= 0),
	CONSTRAINT "disputes_fee" CHECK (fee_minor = 0 or fee_currency is not null)
);--> statement-breakpoint
ALTER TABLE "disputes" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "disputes" FORCE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "ledger_postings" DROP CONSTRAINT "ledger_postings_refund_named";--> statement-breakpoint
ALTER TABLE "ledger_postings" DROP CONSTRAINT "ledger_postings_kind";--> statement-breakpoint
ALTER TABLE "ledger_postings" DROP CONSTRAINT "ledger_postings_debit";--> statement-breakpoint
ALTER TABLE "ledger_postings" DROP CONSTRAINT "ledger_postings_credit";--> statement-breakpoint
ALTER TABLE "events" ADD COLUMN "dispute_id" uuid;--> statement-breakpoint
ALTER TABLE "idempotency_keys" ADD COLUMN "dispute_id" uuid;--> statement-breakpoint
ALTER TABLE "ledger_postings" ADD COLUMN "dispute_id" uuid;--> statement-breakpoint
ALTER TABLE "provider_events" ADD COLUMN "about" text DEFAULT 'payment' NOT NULL;--> statement-breakpoint
ALTER TABLE "disputes" ADD CONSTRAINT "disputes_payment" FOREIGN KEY ("tenant_id","payment_id") REFERENCES "public"."payments"("tenant_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "disputes_by_payment" ON "disputes" USING btree ("tenant_id","payment_id","id");--> statement-breakpoint
CREATE INDEX "disputes_open" ON "disputes" USING btree ("tenant_id","id") WHERE status not in ('warning_closed', 'won', 'lost', 'prevented');--> statement-breakpoint
ALTER TABLE "idempotency_keys" ADD CONSTRAINT "idempotency_keys_dispute" FOREIGN KEY ("tenant_id","dispute_id") REFERENCES "public"."disputes"("tenant_id","id") ON DELETE no action ON UPDATE no action NOT VALID;--> statement-breakpoint
ALTER TABLE "ledger_postings" ADD CONSTRAINT "ledger_postings_dispute" FOREIGN KEY ("tenant_id","dispute_id") REFERENCES "public"."disputes"("tenant_id","id") ON DELETE no action ON UPDATE no action NOT VALID;--> statement-breakpoint
ALTER TABLE "ledger_postings" ADD CONSTRAINT "ledger_postings_resource_named" CHECK (kind = 'provider_fee' or (
        (kind in ('refund', 'refund_failure')) = (refund_id is not null)
        and (kind in ('dispute', 'dispute_reversal')) = (dispute_id is not null)
      )) NOT VALID;--> statement-breakpoint
ALTER TABLE "ledger_postings" ADD CONSTRAINT "ledger_postings_kind" CHECK (kind in ('capture', 'refund', 'refund_failure', 'dispute', 'dispute_reversal', 'provider_fee')) NOT VALID;--> statement-breakpoint
ALTER TABLE "ledger_postings" ADD CONSTRAINT "ledger_postings_debit" CHECK (debit in ('provider_receivable', 'merchant_payable', 'fees', 'refunds', 'disputes', 'provider_fees')) NOT VALID;--> statement-breakpoint
ALTER TABLE "ledger_postings" ADD CONSTRAINT "ledger_postings_credit" CHECK (credit in ('provider_receivable', 'merchant_payable', 'fees', 'refunds', 'disputes', 'provider_fees')) NOT VALID;--> statement-breakpoint
ALTER TABLE "provider_events" ADD CONSTRAINT "provider_events_about" CHECK (about in ('payment', 'dispute', 'early_fraud_warning')) NOT VALID;--> statement-breakpoint
CREATE POLICY "seen_by_its_tenant" ON "disputes" AS PERMISSIVE FOR ALL TO public USING ((select current_setting('atomic.tenants', true) = '*') or tenant_id = any ((select nullif(nullif(current_setting('atomic.tenants', true), '*'), '')::uuid[])::uuid[]));