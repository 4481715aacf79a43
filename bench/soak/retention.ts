// Shortens the retention of idempotency keys and completed jobs to seconds. A soak then reaches the
// state that a service reaches after days: as many rows are deleted as created. The settings allow
// no less than a day.
import type { Sql } from '../../src/db/connection/client.ts'
import { JOB_SCHEMA } from '../../src/db/queue/jobs.ts'

const SECONDS_MIN = 10
const SECONDS_MAX = 90

/** Returns a twelfth of the soak: the first deletions happen well before its second third. */
export function retentionSecondsOf(minutes: number): number {
  return Math.min(SECONDS_MAX, Math.max(SECONDS_MIN, Math.round((minutes * 60) / 12)))
}

/**
 * A trigger sets `expires_at` when a key is written, so that no row is updated only for this
 * purpose. Jobs take the retention of their queue when they are created; existing jobs keep theirs.
 */
export async function shortenRetention(sql: Sql, seconds: number): Promise<void> {
  await sql.unsafe(`
    create function expire_soon() returns trigger language plpgsql as $$
    begin
      new.expires_at := least(new.expires_at, now() + interval '${seconds} seconds');
      return new;
    end $$;
    create trigger expire_soon before insert or update on idempotency_keys
    for each row execute function expire_soon();
  `)
  await sql`update ${sql(JOB_SCHEMA)}.queue set deletion_seconds = ${seconds}`
}

/**
 * Makes the workers delete completed jobs at pg-boss's next check, within seconds. pg-boss's usual
 * interval is longer than most soaks.
 */
export async function requestDeletion(sql: Sql): Promise<void> {
  await sql`update ${sql(JOB_SCHEMA)}.queue set maintain_on = now() - interval '2 days'`
}
