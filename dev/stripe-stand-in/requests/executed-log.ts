// Implements the executed log, an append-only record of all effects. The fault suite counts charges
// in it, independently of the service. Each entry is written in the transaction of its effect.
import type { DatabaseSync } from 'node:sqlite'
import { placePoint } from '../../stand-in/decimals.ts'
import { stripeDecimals } from '../currencies.ts'
import type { EventCause } from '../webhooks/event.ts'

/**
 * The object and what happened to it, such as `refund.create`. `payment_intent.create` and
 * `payment_intent.confirm` mean that money was authorised or charged. An intent that is unconfirmed,
 * declined or waiting for authentication has no entry.
 */
export type ExecutedKind = `${string}.${string}`

interface ExecutedObject {
  id: string
  currency: string
  metadata: Record<string, string>
}

type StoredEntry = { amount: number; currency: string; metadata: string }

export type ExecutedLog = ReturnType<typeof openExecutedLog>

/** Opens the log, and creates its table if necessary. */
export function openExecutedLog(database: DatabaseSync) {
  database.exec(`
    create table if not exists executed (
      seq integer primary key,
      at text not null,
      kind text not null,
      id text not null,
      amount integer not null,
      currency text not null,
      idempotency_key text,
      metadata text not null
    ) strict`)
  const sql = database.createTagStore()
  return {
    /**
     * @param amount in minor units: what was authorised, captured, released, refunded or, by a refund
     * that failed or was canceled, returned; of an incremental authorization the new total; of a fee
     * that came back, a negative amount.
     */
    append: (
      { nowMs, idempotencyKey }: EventCause,
      kind: ExecutedKind,
      { id, currency, metadata }: ExecutedObject,
      amount: number,
    ) =>
      void sql.run`
        insert into executed (at, kind, id, amount, currency, idempotency_key, metadata)
        values (${new Date(nowMs).toISOString()}, ${kind}, ${id}, ${amount}, ${currency},
          ${idempotencyKey ?? null}, ${JSON.stringify(metadata)})`,
    /** How often this happened to the object. */
    count: (kind: ExecutedKind, id: string) =>
      Number(
        sql.get`select count(*) as n from executed where kind = ${kind} and id = ${id}`?.['n'],
      ),
    /** With `value`, the amount in the main unit of the currency: what a card statement shows. */
    list: () =>
      sql.all`select * from executed order by seq`.map((row) => {
        const { amount, currency, metadata } = row as unknown as StoredEntry
        const value = placePoint(amount, stripeDecimals(currency) ?? 2)
        return Object.assign(row, { value, metadata: JSON.parse(metadata) as unknown })
      }),
  }
}
