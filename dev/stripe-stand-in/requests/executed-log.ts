// Implements the executed log, an append-only record of all effects. The fault suite counts charges
// in it, independently of the service. Each entry is written in the transaction of its effect.
import type { DatabaseSync } from 'node:sqlite'
import { placePoint } from '../../stand-in/decimals.ts'
import { stripeDecimals } from '../currencies.ts'
import type { ApiRequest } from './api-request.ts'

/**
 * The object and what happened to it, such as `refund.create`. `payment_intent.create` and
 * `payment_intent.confirm` mean that money was authorised or charged. An intent that is unconfirmed,
 * declined or waiting for authentication has no entry.
 */
export type ExecutedKind = `${string}.${string}`

interface ExecutedEntry {
  kind: ExecutedKind
  id: string
  /**
   * In minor units: the amount that was authorised, captured, released, refunded or, by a refund that
   * failed or was canceled, returned; of an incremental authorization the new total; of a fee that came
   * back, a negative amount.
   */
  amount: number
  currency: string
  metadata: Record<string, string>
}

type StoredEntry = Pick<ExecutedEntry, 'amount' | 'currency'> & { metadata: string }

export interface ExecutedLog {
  /** How often this happened to the object. */
  count(kind: ExecutedKind, id: string): number
  append(cause: Pick<ApiRequest, 'nowMs' | 'idempotencyKey'>, executed: ExecutedEntry): void
  /** With `value`, the amount in the main unit of the currency: what a card statement shows. */
  list(): object[]
}

/** Opens the log, and creates its table if necessary. */
export function openExecutedLog(database: DatabaseSync): ExecutedLog {
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
  const insert = database.prepare(`
    insert into executed (at, kind, id, amount, currency, idempotency_key, metadata)
    values (?, ?, ?, ?, ?, ?, ?)`)
  const select = database.prepare('select * from executed order by seq')
  const count = database.prepare('select count(*) as n from executed where kind = ? and id = ?')
  return {
    append: ({ nowMs, idempotencyKey }, { kind, id, amount, currency, metadata }) => {
      const at = new Date(nowMs).toISOString()
      const key = idempotencyKey ?? null
      insert.run(at, kind, id, amount, currency, key, JSON.stringify(metadata))
    },
    count: (kind, id) => Number(count.get(kind, id)?.['n']),
    list: () =>
      select.all().map((row) => {
        const { amount, currency, metadata } = row as unknown as StoredEntry
        const value = placePoint(amount, stripeDecimals(currency) ?? 2)
        return Object.assign(row, { value, metadata: JSON.parse(metadata) as unknown })
      }),
  }
}
