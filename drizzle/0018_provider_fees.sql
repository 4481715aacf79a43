-- The fees that the provider charges, and the finding of a movement that the service does not know.
-- NOT VALID: every row that is there has passed the stricter rule, so that no large table has to be
-- read while it is locked.
ALTER TABLE "ledger_postings" DROP CONSTRAINT "ledger_postings_kind";--> statement-breakpoint
ALTER TABLE "ledger_postings" DROP CONSTRAINT "ledger_postings_refund_named";--> statement-breakpoint
ALTER TABLE "ledger_postings" DROP CONSTRAINT "ledger_postings_debit";--> statement-breakpoint
ALTER TABLE "ledger_postings" DROP CONSTRAINT "ledger_postings_credit";--> statement-breakpoint
ALTER TABLE "reconciliation_findings" DROP CONSTRAINT "reconciliation_findings_kind";--> statement-breakpoint
ALTER TABLE "ledger_postings" ADD CONSTRAINT "ledger_postings_kind" CHECK (kind in ('capture', 'refund', 'refund_failure', 'provider_fee')) NOT VALID;--> statement-breakpoint
ALTER TABLE "ledger_postings" ADD CONSTRAINT "ledger_postings_refund_named" CHECK (kind = 'provider_fee' or (kind <> 'capture') = (refund_id is not null)) NOT VALID;--> statement-breakpoint
ALTER TABLE "ledger_postings" ADD CONSTRAINT "ledger_postings_debit" CHECK (debit in ('provider_receivable', 'merchant_payable', 'fees', 'refunds', 'provider_fees')) NOT VALID;--> statement-breakpoint
ALTER TABLE "ledger_postings" ADD CONSTRAINT "ledger_postings_credit" CHECK (credit in ('provider_receivable', 'merchant_payable', 'fees', 'refunds', 'provider_fees')) NOT VALID;--> statement-breakpoint
ALTER TABLE "reconciliation_findings" ADD CONSTRAINT "reconciliation_findings_kind" CHECK (kind in ('outcome_unknown', 'operation_abandoned', 'missing_here', 'missing_there', 'amount_differs', 'currency_differs', 'status_differs', 'ledger_differs', 'charged_twice', 'held_twice', 'refunded_twice', 'unknown_movement')) NOT VALID;