-- The sessions of operators in the console. The service deletes those that have ended at each log-in.
CREATE TABLE "console_sessions" (
	"token_hash" "bytea" NOT NULL,
	"operator" text NOT NULL,
	"key_proof" "bytea" NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"seen_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "console_sessions_token_hash_pk" PRIMARY KEY("token_hash")
);
