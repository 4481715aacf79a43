// Whether the tables are distributed over the nodes of Citus: see distribution.ts.
import type { Sql } from '../connection/client.ts'

/** Needs no right on the schema. */
export async function isDistributed(sql: Sql): Promise<boolean> {
  const [recorded] = await sql<{ exists: boolean }[]>`
    select exists (
      select from pg_class where relname = 'distributed_tables'
        and relnamespace = (select oid from pg_namespace where nspname = 'drizzle')
    ) as exists
  `
  return recorded?.exists === true
}
