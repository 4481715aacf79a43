// The append-only log of what the provider executed: the independent record that a fault suite
// counts charges from. An entry is written in the transaction of the effect it tells of.
import type { DatabaseSync } from 'node:sqlite'
import type { ApiRequest } from './api-request.ts'

/**
 * `payment_intent.create` and `payment_intent.confirm` stand for money authorised or charged; an
 * intent that is only made, declined or waiting for its customer is no entry.
 */
export type ExecutedKind =
  | 'payment_intent.create'
  | 'payment_intent.confirm'
  | 'payment_intent.capture'
  | 'payment_intent.cancel'
  | 'refund.create'

interface ExecutedEntry {
  kind: ExecutedKind
  id: string
  /** Minor units: authorised, captured, released or refunded, as the kind says. */
  amount: number
  currency: string
  metadata: Record<string, string>
}

export interface ExecutedLog {
  append(cause: Pick<ApiRequest, 'nowMs' | 'idempotencyKey'>, executed: ExecutedEntry): void
  list(): object[]
}

/** Opens the log, and makes its table when that is missing. */
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
  return {
    append: ({ nowMs, idempotencyKey }, { kind, id, amount, currency, metadata }) => {
      const at = new Date(nowMs).toISOString()
      const key = idempotencyKey ?? null
      insert.run(at, kind, id, amount, currency, key, JSON.stringify(metadata))
    },
    list: () =>
      select
        .all()
        .map((row) => Object.assign(row, { metadata: JSON.parse(row['metadata'] as string) })),
  }
}
