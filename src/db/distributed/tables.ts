// Which tables are distributed over nodes, as the migration has recorded it.
import type { Sql } from 'postgres'

export interface Tables {
  readonly distributed: ReadonlySet<string>
  /** The columns of each table of ours, in their order. */
  readonly columns: ReadonlyMap<string, readonly string[]>
}

/** Whether the tables of this database were distributed. Needs no right on the schema. */
export async function isDistributed(sql: Sql): Promise<boolean> {
  const [recorded] = await sql<{ exists: boolean }[]>`
    select exists (
      select from pg_class where relname = 'distributed_tables'
        and relnamespace = (select oid from pg_namespace where nspname = 'drizzle')
    ) as exists
  `
  return recorded?.exists === true
}

/** Which tables of a database are distributed; undefined if none is. */
export async function readTables(sql: Sql): Promise<Tables | undefined> {
  if (!(await isDistributed(sql))) return undefined
  const distributed = await sql<{ name: string }[]>`select name from drizzle.distributed_tables`
  const tables = await sql<{ name: string; columns: string[] }[]>`
    select relname as name, array_agg(attname::text order by attnum) as columns
    from pg_attribute
    join pg_class on pg_class.oid = attrelid
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
      and attnum > 0 and not attisdropped
    group by relname
  `
  return {
    distributed: new Set(distributed.map(({ name }) => name)),
    columns: new Map(tables.map(({ name, columns }) => [name, columns])),
  }
}
