-- The form of stored responses. Those of the version without this column have version 1. A constant default does not rewrite
-- the table.
ALTER TABLE "idempotency_keys" ADD COLUMN "response_version" smallint DEFAULT 1 NOT NULL;