// Stores the events and their deliveries. An event is inserted in the transaction of its cause, so
// that neither exists without the other. Pending deliveries survive a restart.
import type { DatabaseSync } from 'node:sqlite'
import { z } from 'zod'
import { newEvent, type EventCause, type EventType, type ObjectOf } from './event.ts'
import type { Settings } from '../settings.ts'

/** Controls how events are sent. All knobs can change while the stand-in runs. */
export const webhookKnobs = z.strictObject({
  /** The receiver. With null no events are created. */
  url: z.url({ protocol: /^https?$/ }).nullable(),
  /** The number of next events that are never sent. */
  lose: z.int().min(0),
  /** The number of additional deliveries of each event. */
  duplicate: z.int().min(0).max(10),
  /** Whether due deliveries are sent in random order instead of creation order. */
  shuffle: z.boolean(),
  /** The delay between an event and its delivery, in milliseconds. */
  delay_ms: z.int().min(0),
  /** While the secret is rolled: the old one, which signs each event as well. */
  old_secret: z.string().min(1).nullable(),
})
type WebhookKnobs = z.infer<typeof webhookKnobs>
type KnobChanges = { [Knob in keyof WebhookKnobs]?: WebhookKnobs[Knob] | undefined }

type DeliveryState = 'pending' | 'sent' | 'lost' | 'failed'

export interface Delivery {
  seq: number
  event: string
  type: string
  body: string
  attempts: number
}

export type WebhookOutbox = ReturnType<typeof openWebhookOutbox>

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
) {
  database.exec(SCHEMA)
  const sql = database.createTagStore()
  const { read: knobs, change } = openKnobs(settings, defaultUrl)
  let listener: (() => void) | undefined
  // Transactions are synchronous: the current one has ended when the callback runs.
  const announce = () => void setImmediate(() => listener?.())
  /** Changes some knobs and returns all. */
  const setKnobs = (changes: KnobChanges) => {
    change(changes)
    announce()
    return knobs()
  }
  return {
    knobs,
    setKnobs,
    /** Inserts an event and its deliveries. The caller runs it in the transaction of the cause. */
    append: <Type extends EventType>(
      cause: EventCause,
      type: Type,
      object: ObjectOf<Type>,
      before?: ObjectOf<Type>,
    ) => {
      const { url, lose, duplicate, delay_ms } = knobs()
      if (url === null) return
      const event = newEvent(cause, type, object, before)
      const body = JSON.stringify(event)
      const insert = (state: DeliveryState) =>
        sql.run`
          insert into deliveries (event, type, body, state, due_ms)
          values (${event.id}, ${type}, ${body}, ${state}, ${systemNow() + delay_ms})`
      if (lose > 0) {
        insert('lost')
        setKnobs({ lose: lose - 1 })
        return
      }
      for (let copy = 0; copy <= duplicate; copy += 1) insert('pending')
      announce()
    },
    /** Returns a delivery that is due at `nowMs`, in milliseconds since 1970. */
    next: (nowMs: number) => {
      const row = knobs().shuffle
        ? sql.get`
            select seq, event, type, body, attempts from deliveries
            where state = 'pending' and due_ms <= ${nowMs} order by random() limit 1`
        : sql.get`
            select seq, event, type, body, attempts from deliveries
            where state = 'pending' and due_ms <= ${nowMs} order by due_ms, seq limit 1`
      return row as unknown as Delivery | undefined
    },
    /** Returns the due time of the earliest pending delivery. */
    nextDueMs: () => {
      const earliest = sql.get`select min(due_ms) as due_ms from deliveries where state = 'pending'`
      return (earliest?.['due_ms'] as number | null) ?? undefined
    },
    markFinal: ({ seq }: Delivery, state: Exclude<DeliveryState, 'pending'>) =>
      void sql.run`
        update deliveries set state = ${state}, attempts = attempts + 1 where seq = ${seq}`,
    postpone: ({ seq }: Delivery, dueMs: number) =>
      void sql.run`
        update deliveries set due_ms = ${dueMs}, attempts = attempts + 1 where seq = ${seq}`,
    list: () =>
      sql.all`
        select seq, event, type, state, attempts,
          json_extract(body, '$.data.object.id') as object from deliveries order by seq`,
    /** Calls the listener, asynchronously, when a delivery may have become due. */
    onChange: (newListener: (() => void) | undefined) => {
      listener = newListener
    },
  }
}

function openKnobs(settings: Settings, url: string | null) {
  const defaults = { lose: 0, duplicate: 0, shuffle: false, delay_ms: 0, old_secret: null }
  const changed = () => JSON.parse(settings.read(KNOBS) ?? '{}') as KnobChanges
  return {
    read: () => ({ url, ...defaults, ...changed() }) as WebhookKnobs,
    change: (changes: KnobChanges) =>
      settings.write(KNOBS, JSON.stringify({ ...changed(), ...changes })),
  }
}
