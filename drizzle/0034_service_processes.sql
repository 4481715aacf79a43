-- Which API and worker processes run, for operators. Each process writes its own row.
CREATE TABLE "service_processes" (
	"id" uuid NOT NULL,
	"kind" text NOT NULL,
	"host" text NOT NULL,
	"queues" text[] NOT NULL,
	"version" text NOT NULL,
	"circuits" jsonb NOT NULL,
	"started_at" timestamp with time zone NOT NULL,
	"seen_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "service_processes_id_pk" PRIMARY KEY("id"),
	CONSTRAINT "service_processes_kind" CHECK (kind in ('api', 'worker'))
);
--> statement-breakpoint
-- Finds takeovers. Few lines of a timeline are of a lease epoch after the first, but building the index reads all of
-- them. On a large table, build it by hand first: see docs/runbook.md.
CREATE INDEX IF NOT EXISTS "phase_runs_later_epochs" ON "phase_runs" USING btree ("id") WHERE lease_epoch > 1;
