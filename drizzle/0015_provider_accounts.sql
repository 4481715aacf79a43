CREATE TABLE "provider_accounts" (
	"provider" text PRIMARY KEY NOT NULL,
	"account" text NOT NULL,
	"first_used_at" timestamp with time zone DEFAULT now() NOT NULL
);
