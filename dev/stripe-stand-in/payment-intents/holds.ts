// Keeps until when held money can be captured, by the stand-in's clock
// (https://docs.stripe.com/payments/place-a-hold-on-a-payment-method). It survives a restart.
import type { DatabaseSync } from 'node:sqlite'

export type Holds = ReturnType<typeof openHolds>

/** Opens the holds, and creates their table if necessary. */
export function openHolds(database: DatabaseSync) {
  database.exec(`
    create table if not exists holds (
      intent text primary key,
      capture_before integer not null,
      closed integer not null default 0
    ) strict, without rowid;
    create index if not exists holds_open on holds (capture_before) where closed = 0`)
  const sql = database.createTagStore()
  return {
    /** Starts the hold of an intent, or changes when it ends, in seconds since 1970. */
    set: (intent: string, captureBefore: number) =>
      void sql.run`
        insert or replace into holds (intent, capture_before) values (${intent}, ${captureBefore})`,
    captureBefore: (intent: string) =>
      sql.get`select capture_before from holds where intent = ${intent}`?.['capture_before'] as
        | number
        | undefined,
    /** The intents whose hold ended before this second, and is not closed yet. */
    ended: (before: number) =>
      sql.all`
        select intent from holds where closed = 0 and capture_before < ${before}
        order by capture_before`.map(({ intent }) => intent as string),
    /** The hold is over; when it ended is still known. */
    close: (intent: string) => void sql.run`update holds set closed = 1 where intent = ${intent}`,
  }
}

const HOUR = 60 * 60
const DAY = 24 * HOUR

/** When a hold ends that begins now: Visa gives payments without the cardholder less time. */
export function captureBeforeOf(testCard: string, isOffSession: boolean, nowMs: number): number {
  const seconds = isOffSession && testCard.includes('visa') ? 4 * DAY + 18 * HOUR : 7 * DAY
  return Math.floor(nowMs / 1000) + seconds
}
