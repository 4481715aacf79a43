// Sends notifications through Postgres. On hot paths they are sent after the commit, because
// `pg_notify` inside a transaction locks the whole database at commit. A notification may be lost:
// every receiver also polls.
import { createHash } from 'node:crypto'
import type { Sql, Transaction } from './client.ts'
import { JOB_SCHEMA, OPERATIONS_QUEUE } from '../queue/jobs.ts'

/** Announces idle operations; the payload is their ids, separated by commas. */
export const IDLE_CHANNEL = 'operations_idle'

/**
 * Announces that an API key was revoked or will expire. It has no payload, because this is rare.
 */
export const KEYS_ENDED_CHANNEL = 'api_keys_ended'

/** Announces that stored responses were dropped. It has no payload, because this is rare. */
export const RESPONSES_DROPPED_CHANNEL = 'responses_dropped'

/** Announces that an operator logged out; the payload is the hash of the session's token, as hex. */
export const SESSION_ENDED_CHANNEL = 'console_session_ended'

/** The channel that pg-boss uses for its schema; the payload is the name of a queue. */
export const JOBS_CHANNEL = `pgboss_${createHash('sha224').update(JOB_SCHEMA).digest('hex').slice(0, 24)}`

/** Keeps the payload below the 8,000 bytes that a notification may have. */
const IDS_PER_NOTIFICATION = 200

/**
 * Long enough to coalesce simultaneous commits, too short for a single waiting client to notice.
 */
const COALESCE_MS = 2

/**
 * The delay after a batch of several. Under load, clients wait much longer for other work than
 * this.
 */
const COALESCE_BUSY_MS = 10

type OnError = (error: unknown) => void

/**
 * Returns a function that wakes the workers for new jobs of a queue: at once, and at most every few
 * milliseconds.
 */
export function createJobWaker(
  sql: Sql,
  onError: OnError,
  queue: string = OPERATIONS_QUEUE,
): () => void {
  const add = coalesce<null>(async () => {
    // The channel is in the text, so that the logs tell it from the others.
    await sql`select pg_notify(${sql.unsafe(`'${JOBS_CHANNEL}'`)}, ${queue})`
  }, onError)
  return () => add(null)
}

/**
 * Announces that API keys have ended, when the transaction commits. Keys end so rarely that the lock at
 * commit does not matter.
 */
export async function announceEndedKeys(sql: Sql | Transaction): Promise<void> {
  await sql`select pg_notify(${KEYS_ENDED_CHANNEL}, '')`
}

/**
 * Returns a function that announces an idle operation. Announcements within a few milliseconds are
 * coalesced.
 */
export function createIdleAnnouncer(sql: Sql, onError: OnError): (operationId: string) => void {
  return coalesce<string>(async (ids) => {
    for (let start = 0; start < ids.length; start += IDS_PER_NOTIFICATION) {
      const payload = ids.slice(start, start + IDS_PER_NOTIFICATION).join(',')
      await sql`select pg_notify(${IDLE_CHANNEL}, ${payload})`
    }
  }, onError)
}

/**
 * Flushes the items of one event-loop turn at once, and those of the next few milliseconds
 * together.
 */
function coalesce<Item>(
  flush: (items: Item[]) => Promise<void>,
  onError: OnError,
): (item: Item) => void {
  let pending: Item[] = []
  let isBusy = false
  const send = () => {
    const items = pending
    pending = []
    isBusy = items.length > 0
    if (!isBusy) return
    setTimeout(send, items.length > 1 ? COALESCE_BUSY_MS : COALESCE_MS).unref()
    flush(items).catch(onError)
  }
  return (item) => {
    pending.push(item)
    if (isBusy) return
    isBusy = true
    setImmediate(send)
  }
}
