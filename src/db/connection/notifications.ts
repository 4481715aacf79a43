// Wake-ups through Postgres, on every hot path after the commit they tell of: `pg_notify` inside a
// transaction takes a lock on the whole database at commit. They are hints; whoever waits for one polls
// as well, or asks again before long.
import type { Fragment, Sql, Transaction } from './client.ts'
import { JOB_SCHEMA, OPERATIONS_QUEUE } from '../queue/queues.ts'

/** Operations that nobody works on any more; the payload is their ids, separated by commas. */
export const IDLE_CHANNEL = 'operations_settled'

/** Some API key works no more, or expires; without a payload, because such news are rare. */
export const KEYS_ENDED_CHANNEL = 'api_keys_ended'

/** Few enough ids for the 8,000 bytes that a notification may carry. */
const IDS_PER_NOTIFICATION = 200

/** Long enough to bundle what commits together, too short to be noticed by a client who waits alone. */
const COALESCE_MS = 2

/** After several at once: where many wait, each waits longer for everything else than for company. */
const COALESCE_BUSY_MS = 10

type OnError = (error: unknown) => void

/**
 * Returns a function that wakes the workers for new jobs of a queue, at once and at most every few
 * milliseconds. The channel is the one that pg-boss listens on for its schema.
 */
export function createJobWaker(
  sql: Sql,
  onError: OnError,
  queue: string = OPERATIONS_QUEUE,
): () => void {
  const wake = () => sql`
    select pg_notify(
      'pgboss_' || left(encode(sha224(${JOB_SCHEMA}::text::bytea), 'hex'), 24), ${queue}
    )
  `
  const add = coalesce<null>(async () => {
    await wake()
  }, onError)
  return () => add(null)
}

/**
 * A part of the list of what a statement selects or returns: announces that API keys have ended, once its
 * transaction is committed and only if it is. Ending keys is so rare that the lock is no matter.
 */
export function announceEndedKeys(sql: Sql | Transaction): Fragment {
  return sql`pg_notify(${KEYS_ENDED_CHANNEL}, '') as announced`
}

/** Returns a function that announces a settled operation, bundled over a few milliseconds. */
export function createIdleAnnouncer(sql: Sql, onError: OnError): (operationId: string) => void {
  return coalesce<string>(async (ids) => {
    for (let start = 0; start < ids.length; start += IDS_PER_NOTIFICATION) {
      const payload = ids.slice(start, start + IDS_PER_NOTIFICATION).join(',')
      await sql`select pg_notify(${IDLE_CHANNEL}, ${payload})`
    }
  }, onError)
}

/** What comes in one turn goes at once, and what comes within a few milliseconds after that together. */
function coalesce<Item>(
  flush: (items: Item[]) => Promise<void>,
  onError: OnError,
): (item: Item) => void {
  let waiting: Item[] = []
  let isBusy = false
  const send = () => {
    const items = waiting
    waiting = []
    isBusy = items.length > 0
    if (!isBusy) return
    setTimeout(send, items.length > 1 ? COALESCE_BUSY_MS : COALESCE_MS).unref()
    flush(items).catch(onError)
  }
  return (item) => {
    waiting.push(item)
    if (isBusy) return
    isBusy = true
    setImmediate(send)
  }
}
