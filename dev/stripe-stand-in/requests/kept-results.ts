// Stores, for each idempotency key of each secret key, the first answer and a fingerprint of the
// request.
import type { DatabaseSync } from 'node:sqlite'

export interface KeptResult {
  fingerprint: string
  status: number
  body: string
  request_id: string
}

export interface KeptResults {
  find(account: string, key: string, keptAfterMs: number): KeptResult | undefined
  /** Stores a result. Replaces an expired result of the same key. */
  keep(account: string, key: string, atMs: number, result: KeptResult): void
  dropAll(): void
}

/** Opens the kept results, and creates their table if necessary. */
export function openKeptResults(database: DatabaseSync): KeptResults {
  database.exec(`
    create table if not exists kept_results (
      account text not null,
      key text not null,
      at_ms integer not null,
      fingerprint text not null,
      status integer not null,
      body text not null,
      request_id text not null,
      primary key (account, key)
    ) strict`)
  const select = database.prepare(`
    select fingerprint, status, body, request_id from kept_results
    where account = ? and key = ? and at_ms > ?`)
  const upsert = database.prepare(`
    insert or replace into kept_results
      (account, key, at_ms, fingerprint, status, body, request_id)
    values (?, ?, ?, ?, ?, ?, ?)`)
  return {
    find: (account, key, keptAfterMs) =>
      select.get(account, key, keptAfterMs) as unknown as KeptResult | undefined,
    keep: (account, key, atMs, { fingerprint, status, body, request_id }) =>
      void upsert.run(account, key, atMs, fingerprint, status, body, request_id),
    dropAll: () => database.exec('delete from kept_results'),
  }
}
