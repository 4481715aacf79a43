// The provider's own database, one SQLite file apart from the service's Postgres, so that it
// remembers what it charged however the service crashes. An effect, its log entry and the kept
// result of its idempotency key are one transaction here.
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { openExecutedLog, type ExecutedLog } from './executed-log.ts'
import { openKeptResults, type KeptResults } from './kept-results.ts'
import { openObjects, type Objects } from './objects.ts'
import { openSettings, type Settings } from './settings.ts'
import { openWebhookOutbox, type WebhookOutbox } from './webhook-outbox.ts'

/** What an endpoint may read and write. */
export interface Records {
  objects: Objects
  executed: ExecutedLog
  events: WebhookOutbox
}

export interface Storage extends Records {
  keptResults: KeptResults
  settings: Settings
  /** Runs the work as one transaction; a throw takes everything back. */
  transaction<Result>(work: () => Result): Result
  empty(): void
  close(): void
}

/** A forgotten process on the same file is waited for that long, then reported. */
const LOCK_TIMEOUT_MS = 2_000

export interface StorageOptions {
  /** The SQLite file; it and its folder are made when missing. `:memory:` keeps nothing. */
  path: string
  /** Where events are sent unless a control says otherwise; null for nowhere. */
  webhookUrl: string | null
  /** Milliseconds since 1970. */
  systemNow: () => number
}

export function openStorage({ path, webhookUrl, systemNow }: StorageOptions): Storage {
  mkdirSync(dirname(path), { recursive: true })
  const database = new DatabaseSync(path, { timeout: LOCK_TIMEOUT_MS })
  // NORMAL does not wait for the disk at each commit, and a process killed after a commit still
  // leaves it in the operating system's hands. Only a loss of power could undo it, and that is
  // outside of what the fault suite claims.
  database.exec('pragma journal_mode = wal; pragma synchronous = normal')
  const settings = openSettings(database)
  return {
    objects: openObjects(database),
    executed: openExecutedLog(database),
    keptResults: openKeptResults(database),
    events: openWebhookOutbox(database, settings, { defaultUrl: webhookUrl, systemNow }),
    settings,
    transaction: createTransaction(database),
    empty: () =>
      database.exec(
        'delete from objects; delete from executed; delete from kept_results; ' +
          'delete from deliveries; delete from settings',
      ),
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
