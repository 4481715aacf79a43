// Keeps a process from starting on a database that cannot keep the guarantees of the service.
import { ConfigError, type Config } from '../../config.ts'
import { judgeDatabase, type DatabaseNeeds } from '../../domain/deployment/database-checks.ts'
import type { Store } from '../connection/client.ts'
import { requireStoredKeys } from '../encryption/seals.ts'
import { refuseDevelopmentDatabase } from '../migrations/applied-migrations.ts'
import { readDatabaseFacts } from './database-facts.ts'

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
