// Stores, for each idempotency key of each secret key, the first answer and a fingerprint of the
// request.
import type { DatabaseSync } from 'node:sqlite'

export interface KeptResult {
  fingerprint: string
  status: number
  body: string
  request_id: string
}

/** Opens the kept results, and creates their table if necessary. */
export function openKeptResults(database: DatabaseSync) {
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
  const sql = database.createTagStore()
  return {
    find: (account: string, key: string, keptAfterMs: number) =>
      sql.get`
        select fingerprint, status, body, request_id from kept_results
        where account = ${account} and key = ${key} and at_ms > ${keptAfterMs}
      ` as unknown as KeptResult | undefined,
    /** Stores a result. Replaces an expired result of the same key. */
    keep: (account: string, key: string, atMs: number, result: KeptResult) =>
      void sql.run`
        insert or replace into kept_results
          (account, key, at_ms, fingerprint, status, body, request_id)
        values (${account}, ${key}, ${atMs}, ${result.fingerprint}, ${result.status},
          ${result.body}, ${result.request_id})`,
    dropAll: () => database.exec('delete from kept_results'),
  }
}
