// Makes keys and finished jobs go within minutes, so that a soak sees what a service sees over days: as many
// rows are forgotten as are made. The service's own settings do not allow less than a day.
import type { Sql } from '../../src/db/connection/client.ts'
import { JOB_SCHEMA } from '../../src/db/queue/queues.ts'

const SECONDS_MIN = 10
const SECONDS_MAX = 90

/** A twelfth of the soak: what is made in its first third is gone before the second one begins. */
export function retentionSecondsOf(minutes: number): number {
  return Math.min(SECONDS_MAX, Math.max(SECONDS_MIN, Math.round((minutes * 60) / 12)))
}

/**
 * Keys get their end where they are written, by a trigger, so that no row is written once more for it. Jobs
 * that are there take what their queue says when they are made.
 */
export async function shortenRetention(sql: Sql, seconds: number): Promise<void> {
  await sql.unsafe(`
    create function end_soon() returns trigger language plpgsql as $$
    begin
      new.expires_at := least(new.expires_at, now() + interval '${seconds} seconds');
      return new;
    end $$;
    create trigger end_soon before insert or update on idempotency_keys
    for each row execute function end_soon();
  `)
  await sql`update ${sql(JOB_SCHEMA)}.queue set deletion_seconds = ${seconds}`
}

/**
 * Has the workers delete finished jobs when they look next, which is within seconds: on their own account
 * they do so rarely, and a soak is over by then.
 */
export async function askForDeletion(sql: Sql): Promise<void> {
  await sql`update ${sql(JOB_SCHEMA)}.queue set maintain_on = now() - interval '2 days'`
}
