// Opens the database of the stand-in: one SQLite file, separate from the service's PostgreSQL, so
// that the record of charges survives every crash of the service. An effect, its log entry and the
// kept result of its idempotency key are written in one transaction.
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { openExecutedLog, type ExecutedLog } from './requests/executed-log.ts'
import { openKeptResults, type KeptResults } from './requests/kept-results.ts'
import { openObjects, type AllObjects, type Objects } from './objects.ts'
import { openHolds, type Holds } from './payment-intents/holds.ts'
import { openTimetable, type Timetable } from './timetable.ts'
import { openSettings, type Settings } from './settings.ts'
import { openWebhookOutbox, type WebhookOutbox } from './webhooks/webhook-outbox.ts'

/** The tables that an endpoint may read and write. */
export interface Records {
  objects: Objects
  executed: ExecutedLog
  events: WebhookOutbox
  timetable: Timetable
  holds: Holds
}

export interface Storage extends Records {
  objects: AllObjects
  keptResults: KeptResults
  settings: Settings
  /** Runs the work as one transaction. An exception rolls it back. */
  transaction<Result>(work: () => Result): Result
  empty(): void
  close(): void
}

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

export function openStorage({ path, webhookUrl, systemNow }: StorageOptions): Storage {
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
  return {
    objects: openObjects(database),
    executed: openExecutedLog(database),
    keptResults: openKeptResults(database),
    events: openWebhookOutbox(database, settings, { defaultUrl: webhookUrl, systemNow }),
    timetable: openTimetable(database),
    holds: openHolds(database),
    settings,
    transaction: createTransaction(database),
    empty: () => {
      for (const { name } of tables.all()) database.exec(`delete from ${String(name)}`)
    },
    close: () => database.close(),
  }
}

function createTransaction(database: DatabaseSync): Storage['transaction'] {
  const begin = database.prepare('begin immediate')
  const commit = database.prepare('commit')
  const rollback = database.prepare('rollback')
  return (work) => {
    begin.run()
    try {
      const result = work()
      commit.run()
      return result
    } catch (error) {
      if (database.isTransaction) rollback.run()
      throw error
    }
  }
}
