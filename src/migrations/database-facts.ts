// Reads what a database is like, for the start of a process and for `npm run doctor`.
import {
  durableSettings,
  settingNames,
  type DatabaseFacts,
  type DurabilityFacts,
  type NodeFacts,
  judgeDatabase,
  type DatabaseNeeds,
} from '../domain/deployment/database-checks.ts'
import type { Sql, Store } from '../db/connection/client.ts'
import { isDistributed } from './distribution.ts'
import { TENANT_POLICY } from '../db/connection/transaction.ts'
import { storeErrorKind } from '../db/connection/store-errors.ts'
import { ConfigError } from '../config-formats.ts'
import type { Config } from '../config.ts'
import { requireStoredKeys } from '../encryption/seals.ts'
import { refuseDevelopmentDatabase } from './applied-migrations.ts'

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
    if (storeErrorKind(error) !== 'timeout') throw error
    return [{ node: 'other than the coordinator', facts: null }]
  }
}

/**
 * The connections that one process of each kind has at most beside its pool. Both listen on one, and
 * look for the primary over one, a worker for each of its two pools. A worker has three for jobs, and
 * one for pg-boss's scripts.
 */
export const OTHER_CONNECTIONS = { api: 2, worker: 7 }

/** What the settings need of the database. */
export function databaseNeeds(config: Config): DatabaseNeeds {
  const { DATABASE_POOL_SIZE: size, DATABASE_MAY_LOSE_COMMITS: mayLoseCommits } = config
  return {
    mayLoseCommits,
    connections: 2 * size + OTHER_CONNECTIONS.api + OTHER_CONNECTIONS.worker,
  }
}

/**
 * Checks that a released version made the database, that it can keep the guarantees of the service,
 * and that the keys of the process open what it has stored.
 *
 * @throws ConfigError that names each failure, and what to do.
 * @throws the driver's error when the database cannot be reached.
 */
export async function requireSafeDatabase(config: Config, { sql }: Store): Promise<void> {
  await refuseDevelopmentDatabase(sql)
  const checks = judgeDatabase(await readDatabaseFacts(sql), databaseNeeds(config))
  const failures = checks.filter(({ verdict }) => verdict === 'failure')
  if (failures.length > 0) {
    const lines = failures.map(({ name, found, advice }) => `  ${name}: ${found}. ${advice}`)
    throw new ConfigError(`The database cannot keep the guarantees:\n${lines.join('\n')}`)
  }
  if (config.ENCRYPTION_KEYS !== undefined) await requireStoredKeys(sql, config.ENCRYPTION_KEYS)
}
