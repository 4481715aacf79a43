// Remembers in which account of a provider the payments of this database were made.
import type { Sql } from '../connection/client.ts'

/** Records the account of a provider, unless one is recorded. Returns the recorded account. */
export async function recordFirstAccount(
  sql: Sql,
  provider: string,
  account: string,
): Promise<string> {
  const [row] = await sql<{ account: string }[]>`
    insert into provider_accounts (provider, account) values (${provider}, ${account})
    -- Changes nothing, but returns the row.
    on conflict (provider) do update set provider = excluded.provider
    returning account
  `
  if (row === undefined) throw new Error('an insert returned no row')
  return row.account
}
