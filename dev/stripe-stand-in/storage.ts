// Opens the database of the stand-in: one SQLite file, separate from the service's PostgreSQL, so
// that the record of charges survives every crash of the service. An effect, its log entry and the
// kept result of its idempotency key are written in one transaction.
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { openExecutedLog, type ExecutedLog } from './requests/executed-log.ts'
import { openKeptResults } from './requests/kept-results.ts'
import { openObjects, type Objects } from './objects.ts'
import { openHolds, type Holds } from './payment-intents/holds.ts'
import { openTimetable, type Timetable } from './timetable.ts'
import { openSettings } from './settings.ts'
import { openWebhookOutbox, type WebhookOutbox } from './webhooks/webhook-outbox.ts'

/** The tables that an endpoint may read and write. */
export interface Records {
  objects: Objects
  executed: ExecutedLog
  events: WebhookOutbox
  timetable: Timetable
  holds: Holds
}

export type Storage = ReturnType<typeof openStorage>

/** How long a statement waits when another process has locked the file, before it fails. */
const LOCK_TIMEOUT_MS = 2_000

export interface StorageOptions {
  /** The SQLite file. It and its folder are created if necessary. `:memory:` stores nothing. */
  path: string
  /**
   * Receives the events, unless a control route sets another URL. With null there are no events.
   */
  webhookUrl: string | null
  /** In milliseconds since 1970. */
  systemNow: () => number
}

export function openStorage({ path, webhookUrl, systemNow }: StorageOptions) {
  mkdirSync(dirname(path), { recursive: true })
  const database = new DatabaseSync(path, { timeout: LOCK_TIMEOUT_MS })
  // NORMAL does not sync at each commit. A commit still survives SIGKILL, because the operating
  // system has the data. Only a power loss could undo it, and the fault suite makes no claim about
  // that.
  database.exec('pragma journal_mode = wal; pragma synchronous = normal')
  const settings = openSettings(database)
  const tables = database.prepare(
    "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'",
  )
  const objects = openObjects(database)
  const records = {
    executed: openExecutedLog(database),
    events: openWebhookOutbox(database, settings, { defaultUrl: webhookUrl, systemNow }),
    timetable: openTimetable(database),
    holds: openHolds(database),
  }
  /** Runs the work as one transaction. An exception rolls it back. */
  const transaction = <Result>(work: () => Result): Result => {
    database.exec('begin immediate')
    try {
      const result = work()
      database.exec('commit')
      return result
    } catch (error) {
      if (database.isTransaction) database.exec('rollback')
      throw error
    }
  }
  return {
    ...records,
    objects,
    keptResults: openKeptResults(database),
    settings,
    /** The records of an account. */
    of: (account: string): Records => ({ ...records, objects: objects.of(account) }),
    transaction,
    /** Changes an object, in one transaction, among the records of its account. */
    change: <Result>(id: string, work: (records: Records) => Result) =>
      transaction(() => work({ ...records, objects: objects.besides(id) })),
    empty: () => {
      for (const { name } of tables.all()) database.exec(`delete from ${String(name)}`)
    },
    close: () => database.close(),
  }
}
