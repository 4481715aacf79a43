-- The statuses that a refund has at the provider after its answer, and the movement that returns the money of a
-- failed one.
--
-- NOT VALID: every row that is there has passed a narrower rule, so that no large table has to be read while it is
-- locked. Whatever is written from now on is checked.
ALTER TABLE "ledger_postings" DROP CONSTRAINT "ledger_postings_kind";--> statement-breakpoint
ALTER TABLE "ledger_postings" DROP CONSTRAINT "ledger_postings_refund_named";--> statement-breakpoint
ALTER TABLE "refunds" DROP CONSTRAINT "refunds_status";--> statement-breakpoint
ALTER TABLE "refunds" DROP CONSTRAINT "refunds_step";--> statement-breakpoint
ALTER TABLE "refunds" DROP CONSTRAINT "refunds_failure";--> statement-breakpoint
ALTER TABLE "refunds" DROP CONSTRAINT "refunds_provider_refund";--> statement-breakpoint
ALTER TABLE "refunds" ADD COLUMN "moved" boolean DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX "refunds_waiting" ON "refunds" USING btree ("tenant_id","id") WHERE status in ('pending', 'requires_action');--> statement-breakpoint
ALTER TABLE "ledger_postings" ADD CONSTRAINT "ledger_postings_kind" CHECK (kind in ('capture', 'refund', 'refund_failure')) NOT VALID;--> statement-breakpoint
ALTER TABLE "ledger_postings" ADD CONSTRAINT "ledger_postings_refund_named" CHECK ((kind <> 'capture') = (refund_id is not null)) NOT VALID;--> statement-breakpoint
ALTER TABLE "refunds" ADD CONSTRAINT "refunds_status" CHECK (status in ('processing', 'unknown', 'pending', 'requires_action', 'succeeded', 'failed', 'declined', 'canceled')) NOT VALID;--> statement-breakpoint
ALTER TABLE "refunds" ADD CONSTRAINT "refunds_step" CHECK (case when previous_status is null then status = 'processing'
    else previous_status || '>' || status = any ('{processing>pending,processing>requires_action,processing>succeeded,processing>declined,processing>failed,processing>canceled,processing>unknown,unknown>processing,pending>pending,pending>requires_action,pending>succeeded,pending>failed,pending>canceled,requires_action>requires_action,requires_action>pending,requires_action>succeeded,requires_action>failed,requires_action>canceled,succeeded>failed,succeeded>canceled,failed>processing}'::text[]) end) NOT VALID;--> statement-breakpoint
ALTER TABLE "refunds" ADD CONSTRAINT "refunds_failure" CHECK (case status when 'declined' then failure_code is not null when 'failed' then true else failure_code is null end) NOT VALID;--> statement-breakpoint
ALTER TABLE "refunds" ADD CONSTRAINT "refunds_provider_refund" CHECK (status not in ('pending', 'requires_action', 'succeeded', 'canceled') or provider_refund_id is not null) NOT VALID;
