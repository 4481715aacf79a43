// Keeps until when held money can be captured, by the stand-in's clock
// (https://docs.stripe.com/payments/place-a-hold-on-a-payment-method). It survives a restart.
import type { DatabaseSync } from 'node:sqlite'

export interface Holds {
  /** Starts the hold of an intent, or changes when it ends, in seconds since 1970. */
  set(intent: string, captureBefore: number): void
  captureBefore(intent: string): number | undefined
  /** The intents whose hold ended before this second, and is not closed yet. */
  ended(before: number): string[]
  /** The hold is over; when it ended is still known. */
  close(intent: string): void
}

/** Opens the holds, and creates their table if necessary. */
export function openHolds(database: DatabaseSync): Holds {
  database.exec(`
    create table if not exists holds (
      intent text primary key,
      capture_before integer not null,
      closed integer not null default 0
    ) strict, without rowid;
    create index if not exists holds_open on holds (capture_before) where closed = 0`)
  const upsert = database.prepare(
    'insert or replace into holds (intent, capture_before) values (?, ?)',
  )
  const find = database.prepare('select capture_before from holds where intent = ?')
  const ended = database.prepare(
    'select intent from holds where closed = 0 and capture_before < ? order by capture_before',
  )
  const close = database.prepare('update holds set closed = 1 where intent = ?')
  return {
    set: (intent, captureBefore) => void upsert.run(intent, captureBefore),
    captureBefore: (intent) => find.get(intent)?.['capture_before'] as number | undefined,
    ended: (before) => ended.all(before).map(({ intent }) => intent as string),
    close: (intent) => void close.run(intent),
  }
}

const HOUR = 60 * 60
const DAY = 24 * HOUR

/** When a hold ends that begins now: Visa gives payments without the cardholder less time. */
export function captureBeforeOf(testCard: string, isOffSession: boolean, nowMs: number): number {
  const seconds = isOffSession && testCard.includes('visa') ? 4 * DAY + 18 * HOUR : 7 * DAY
  return Math.floor(nowMs / 1000) + seconds
}
