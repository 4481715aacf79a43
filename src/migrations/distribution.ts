// Distributes the tables over the nodes of Citus: see distribute.sql. Grants the rights that Citus does
// not pass on.
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Sql } from '../db/connection/client.ts'
import { EVERY_TENANT, TENANTS_SETTING } from '../db/connection/transaction.ts'
import { rightsOfService } from './service-role.ts'

/** The calls that distribute, in one file. */
const DISTRIBUTE = fileURLToPath(new URL('distribute.sql', import.meta.url))

/** Whether the tables are distributed. Needs no right on the schema. */
export async function isDistributed(sql: Sql): Promise<boolean> {
  const [recorded] = await sql<{ exists: boolean }[]>`
    select exists (
      select from pg_class where relname = 'distributed_tables'
        and relnamespace = (select oid from pg_namespace where nspname = 'drizzle')
    ) as exists
  `
  return recorded?.exists === true
}

/**
 * Distributes the tables that are not distributed yet, in one transaction. It copies their rows.
 *
 * @throws the driver's error when the database has no Citus. Nothing is changed then.
 * @see https://docs.citusdata.com/en/stable/develop/api_udf.html
 */
export async function distributeTables(sql: Sql): Promise<void> {
  const script = await readFile(DISTRIBUTE, 'utf8')
  await sql.begin(async (tx) => {
    await tx.unsafe(`set local citus.multi_shard_modify_mode = 'sequential'`)
    // Row-level security holds for an owner who is no superuser. It would copy no rows.
    await tx.unsafe(`set local ${TENANTS_SETTING} = '${EVERY_TENANT}'`)
    await tx.unsafe(script).simple()
  })
}

/**
 * The nodes connect to each other as the service role. Citus passes rights on columns to no shard: there
 * the role has them on all columns.
 */
export async function grantRightsOnNodes(sql: Sql, role: string): Promise<void> {
  await sql.unsafe(`alter role ${role} login`)
  await sql.unsafe(`grant select, update on drizzle.two_phases to ${role}`)
  for (const [table, rights] of Object.entries(rightsOfService)) {
    if (!rights.includes('(')) continue
    const grant = `grant ${rights.replaceAll(/ \([^)]*\)/g, '')} on %s to ${role}`
    await sql.unsafe(`
      select run_command_on_placements(name::regclass, '${grant}')
      from drizzle.distributed_tables where name = '${table}'
    `)
  }
}
