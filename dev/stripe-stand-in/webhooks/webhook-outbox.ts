// Stores the events and their deliveries. An event is inserted in the transaction of its cause, so
// that neither exists without the other. Pending deliveries survive a restart.
import type { DatabaseSync } from 'node:sqlite'
import { newEvent, type EventCause, type EventContent } from './event.ts'
import type { Settings } from '../settings.ts'

/** Controls how events are sent. All knobs can change while the stand-in runs. */
export interface WebhookKnobs {
  /** The receiver. With null no events are created. */
  url: string | null
  /** The number of next events that are never sent. */
  lose: number
  /** The number of additional deliveries of each event. */
  duplicate: number
  /** Whether due deliveries are sent in random order instead of creation order. */
  shuffle: boolean
  /** The delay between an event and its delivery, in milliseconds. */
  delay_ms: number
  /** While the secret is rolled: the old one, which signs each event as well. */
  old_secret: string | null
}

type DeliveryState = 'pending' | 'sent' | 'lost' | 'failed'

export interface Delivery {
  seq: number
  event: string
  type: string
  body: string
  attempts: number
}

export interface WebhookOutbox {
  /** Inserts an event and its deliveries. The caller runs it in the transaction of the cause. */
  append(cause: EventCause, content: EventContent): void
  knobs(): WebhookKnobs
  /** Changes some knobs and returns all. */
  setKnobs(knobs: Partial<WebhookKnobs>): WebhookKnobs
  /** Returns a delivery that is due at `nowMs`, in milliseconds since 1970. */
  next(nowMs: number): Delivery | undefined
  /** Returns the due time of the earliest pending delivery. */
  nextDueMs(): number | undefined
  markFinal(delivery: Delivery, state: Exclude<DeliveryState, 'pending'>): void
  postpone(delivery: Delivery, dueMs: number): void
  list(): object[]
  /** Calls the listener, asynchronously, when a delivery may have become due. */
  onChange(listener: (() => void) | undefined): void
}

const KNOBS = 'webhooks'

const SCHEMA = `
  create table if not exists deliveries (
    seq integer primary key,
    event text not null,
    type text not null,
    body text not null,
    state text not null,
    due_ms integer not null,
    attempts integer not null default 0
  ) strict;
  create index if not exists deliveries_pending on deliveries (due_ms) where state = 'pending'`

/**
 * Opens the outbox, and creates its table if necessary.
 *
 * @param defaultUrl the receiver until a knob sets another one.
 * @param systemNow the machine's clock: moving the stand-in's clock does not shorten a delay.
 */
export function openWebhookOutbox(
  database: DatabaseSync,
  settings: Settings,
  { defaultUrl, systemNow }: { defaultUrl: string | null; systemNow: () => number },
): WebhookOutbox {
  database.exec(SCHEMA)
  const statements = prepareStatements(database)
  const defaults = {
    url: defaultUrl,
    lose: 0,
    duplicate: 0,
    shuffle: false,
    delay_ms: 0,
    old_secret: null,
  }
  let listener: (() => void) | undefined
  // Transactions are synchronous: the current one has ended when the callback runs.
  const announce = () => void setImmediate(() => listener?.())
  const knobs = () => ({ ...defaults, ...readKnobs(settings) })
  const setKnobs = (changes: Partial<WebhookKnobs>) => {
    settings.write(KNOBS, JSON.stringify({ ...readKnobs(settings), ...changes }))
    announce()
    return knobs()
  }
  return {
    knobs,
    setKnobs,
    append: (cause, content) => {
      const { url, lose, duplicate, delay_ms } = knobs()
      if (url === null) return
      const event = newEvent(cause, content)
      const body = JSON.stringify(event)
      const insert = (state: DeliveryState) =>
        statements.insert.run(event.id, event.type, body, state, systemNow() + delay_ms)
      if (lose > 0) {
        insert('lost')
        setKnobs({ lose: lose - 1 })
        return
      }
      for (let copy = 0; copy <= duplicate; copy += 1) insert('pending')
      announce()
    },
    next: (nowMs) => {
      const select = knobs().shuffle ? statements.anyDue : statements.firstDue
      return select.get(nowMs) as Delivery | undefined
    },
    nextDueMs: () => (statements.earliest.get()?.['due_ms'] as number | null) ?? undefined,
    markFinal: ({ seq }, state) => void statements.markFinal.run(state, seq),
    postpone: ({ seq }, dueMs) => void statements.postpone.run(dueMs, seq),
    list: () => statements.list.all(),
    onChange: (newListener) => {
      listener = newListener
    },
  }
}

function readKnobs(settings: Settings): Partial<WebhookKnobs> {
  return JSON.parse(settings.read(KNOBS) ?? '{}') as Partial<WebhookKnobs>
}

function prepareStatements(database: DatabaseSync) {
  const due = `select seq, event, type, body, attempts from deliveries
    where state = 'pending' and due_ms <= ?`
  return {
    insert: database.prepare(
      'insert into deliveries (event, type, body, state, due_ms) values (?, ?, ?, ?, ?)',
    ),
    firstDue: database.prepare(`${due} order by due_ms, seq limit 1`),
    anyDue: database.prepare(`${due} order by random() limit 1`),
    earliest: database.prepare(
      "select min(due_ms) as due_ms from deliveries where state = 'pending'",
    ),
    markFinal: database.prepare(
      'update deliveries set state = ?, attempts = attempts + 1 where seq = ?',
    ),
    postpone: database.prepare(
      'update deliveries set due_ms = ?, attempts = attempts + 1 where seq = ?',
    ),
    list: database.prepare(
      `select seq, event, type, state, attempts,
        json_extract(body, '$.data.object.id') as object from deliveries order by seq`,
    ),
  }
}
