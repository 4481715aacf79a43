-- The fingerprint of the validated request, and the version of its rule. Processes of the version without these columns
-- go on to reserve keys: theirs have version 1 and no second fingerprint. A constant default does not rewrite the table.
ALTER TABLE "idempotency_keys" ADD COLUMN "fingerprint_version" smallint DEFAULT 1 NOT NULL;--> statement-breakpoint
ALTER TABLE "idempotency_keys" ADD COLUMN "validated_fingerprint" "bytea";