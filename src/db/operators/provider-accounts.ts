// Remembers in which account of a provider the payments of this database were made, and when our
// clocks were apart from the provider's.
import type { Sql } from '../connection/client.ts'

/** Records the account of a provider, unless one is recorded. Returns the recorded account. */
export async function recordFirstAccount(
  sql: Sql,
  provider: string,
  account: string,
): Promise<string> {
  const [row] = await sql<[{ account: string }]>`
    insert into provider_accounts (provider, account) values (${provider}, ${account})
    -- Changes nothing, but returns the row.
    on conflict (provider) do update set provider = excluded.provider
    returning account
  `
  return row.account
}

/** The time of the database, and when and by how much a clock of ours was apart from the provider's. */
export async function readProviderClock(
  sql: Sql,
  provider: string,
): Promise<{ nowMs: number; apart: { atMs: number; seconds: number } | null }> {
  const [row] = await sql<[{ nowMs: number; atMs: number | null; seconds: number | null }]>`
    select
      (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs",
      (extract(epoch from clocks_apart_at) * 1000)::float8 as "atMs",
      clocks_apart_seconds as seconds
    from (values (${provider}::text)) as asked (provider)
    left join provider_accounts using (provider)
  `
  const { nowMs, atMs, seconds } = row
  return { nowMs, apart: atMs === null || seconds === null ? null : { atMs, seconds } }
}

/** Records that a clock of ours is so far apart from the provider's; the greatest difference stays. */
export async function recordClocksApart(
  sql: Sql,
  provider: string,
  seconds: number,
): Promise<void> {
  await sql`
    update provider_accounts set
      clocks_apart_at = clock_timestamp(),
      clocks_apart_seconds = greatest(clocks_apart_seconds, ${seconds}::int)
    where provider = ${provider}
  `
}
