-- Counts how often stored responses were dropped: copies outside the database are valid until the next time.
CREATE TABLE "answer_epochs" (
	"id" integer PRIMARY KEY NOT NULL,
	"epoch" bigint NOT NULL,
	CONSTRAINT "answer_epochs_one_row" CHECK (id = 1)
);
