-- Ends a statement that has found no resource to write, and with it everything that the statement wrote. The
-- SQLSTATEs are those of src/db/connection/store-errors.ts. The version before divides by zero instead and does not
-- use the functions.
--
-- They are VOLATILE, the default, so that the planner never calls them ahead of the CASE that they stand in.
CREATE FUNCTION "raise_intent_refused"() RETURNS boolean
LANGUAGE plpgsql
AS $$ begin raise exception 'the intent was refused' using errcode = 'PY001'; end $$;
--> statement-breakpoint
CREATE FUNCTION "raise_stale_resource"() RETURNS boolean
LANGUAGE plpgsql
AS $$ begin raise exception 'the resource was changed' using errcode = 'PY002'; end $$;
