-- Why a payment was canceled, and the failure of a capture whose hold is still to be released.
-- No default: the column rewrites no table. NOT VALID: the column is new, and every row that is there has
-- passed the stricter rule, so that no large table has to be read while it is locked.
ALTER TABLE "payments" DROP CONSTRAINT "payments_failure";--> statement-breakpoint
ALTER TABLE "payments" ADD COLUMN "cancellation_reason" text;--> statement-breakpoint
ALTER TABLE "payments" ADD CONSTRAINT "payments_cancellation_reason" CHECK (cancellation_reason is null
        or (status = 'canceled' and cancellation_reason in ('duplicate', 'fraudulent', 'requested_by_customer', 'abandoned', 'automatic', 'expired'))) NOT VALID;--> statement-breakpoint
ALTER TABLE "payments" ADD CONSTRAINT "payments_failure" CHECK (case status when 'declined' then failure_code is not null
        when 'requires_action' then failure_code is null when 'succeeded' then failure_code is null
        when 'canceled' then failure_code is null else true end) NOT VALID;
