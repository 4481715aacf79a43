// Reads what a database is like, for the start of a process and for `npm run doctor`.
import postgres from 'postgres'
import {
  durableSettings,
  settingNames,
  type DatabaseFacts,
  type DurabilityFacts,
  type NodeFacts,
} from '../../domain/deployment/database-checks.ts'
import type { Sql } from '../connection/client.ts'
import { isDistributed } from '../migrations/distribution.ts'
import { TENANT_POLICY } from '../connection/row-security.ts'

/** Reads settings, roles and protection as a session of the service sees them. */
export async function readDatabaseFacts(sql: Sql): Promise<DatabaseFacts> {
  const [facts] = await sql<Omit<DatabaseFacts, 'nodes'>[]>`
    select
      current_setting('server_version') as version, session_user::text as "loginRole",
      current_user::text as role, login.rolsuper as "loginIsSuperuser",
      own.rolsuper or own.rolbypassrls as "seesAllRows",
      coalesce(
        (
          select json_agg(relname order by relname) from pg_class
          where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
            and exists (
              select from pg_policy
              where polrelid = pg_class.oid and polname = ${TENANT_POLICY}
            )
            and not (relrowsecurity and relforcerowsecurity)
        ),
        '[]'
      ) as "unprotectedTables",
      pg_is_in_recovery() as "isStandby",
      (
        select json_object_agg(name, current_setting(name, true))
        from unnest(${[...settingNames]}::text[]) as name
      ) as settings,
      (select coalesce(json_agg(sync_state), '[]') from pg_stat_replication) as standbys,
      (select sum(numbackends)::int from pg_stat_database) as connections
    from pg_roles as own, pg_roles as login
    where own.rolname = current_user and login.rolname = session_user
  `
  if (facts === undefined) throw new Error('the current role is not in pg_roles')
  return { ...facts, nodes: (await isDistributed(sql)) ? await readNodeFacts(sql) : [] }
}

/** What each node reads of itself, as JSON. */
const NODE_FACTS = `
  select json_build_object(
    'settings', (
      select json_object_agg(name, current_setting(name))
      from unnest('{${durableSettings.join()}}'::text[]) as name
    ),
    'standbys', (select coalesce(json_agg(sync_state), '[]') from pg_stat_replication)
  )
`

/** The SQLSTATE of a statement that exceeded its time. */
const CANCELED = '57014'

/**
 * Reads the other nodes of Citus, over connections like those that write to them: the sessions of the
 * coordinator have settings of their own.
 */
async function readNodeFacts(sql: Sql): Promise<NodeFacts[]> {
  try {
    const rows = await sql<{ node: string; success: boolean; result: string }[]>`
      select nodename || ':' || nodeport as node, success, result
      from run_command_on_workers(${NODE_FACTS}) order by node
    `
    return rows.map(({ node, success, result }) => ({
      node,
      facts: success ? (JSON.parse(result) as DurabilityFacts) : null,
    }))
  } catch (error) {
    if (!(error instanceof postgres.PostgresError) || error.code !== CANCELED) throw error
    return [{ node: 'other than the coordinator', facts: null }]
  }
}

/** Reads the time of the database, in milliseconds since 1970, and whether its connection has TLS. */
export async function readServerTime(sql: Sql): Promise<{ atMs: number; hasTls: boolean }> {
  const [row] = await sql<{ atMs: number; hasTls: boolean }[]>`
    select
      (extract(epoch from clock_timestamp()) * 1000)::float8 as "atMs",
      coalesce((select ssl from pg_stat_ssl where pid = pg_backend_pid()), false) as "hasTls"
  `
  return row ?? { atMs: Number.NaN, hasTls: false }
}
