-- The counts of requests that the API processes share, in the form that rate-limiter-flexible gives it, so that it
-- is in no schema file. A row is named by kind and tenant, and used again for every window.
--
-- UNLOGGED: a count that is lost in a crash is a window that begins anew, which costs nobody anything, and
-- every write of it is spared the log. The fill factor keeps its updates in place.
CREATE UNLOGGED TABLE "rate_limits" (
	"key" varchar(255) PRIMARY KEY NOT NULL,
	"points" integer DEFAULT 0 NOT NULL,
	"expire" bigint
) WITH (fillfactor = 50);
