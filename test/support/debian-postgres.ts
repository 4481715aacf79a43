// Starts a server of the oldest supported version of PostgreSQL, from Debian's package, which also has
// the tools that the npm package lacks.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
} from '../../dev/embedded-postgres/postgres.ts'
import { testWith } from './test-with.ts'

const execute = promisify(execFile)

const FOLDER = '/usr/lib/postgresql/15/bin'

export const testOnPostgres15 = testWith('postgresql-15')

/** @param directory an empty folder that all users may enter. */
export function startPostgres15(directory: string): Promise<EmbeddedPostgres> {
  const binaries = { initdb: join(FOLDER, 'initdb'), postgres: join(FOLDER, 'postgres') }
  return startEmbeddedPostgres({ directory, durable: false, log: () => {}, binaries })
}

/**
 * Runs `pg_dump` or `pg_restore`.
 *
 * @throws Error with what it printed, unless it succeeds.
 */
export async function runTool(
  tool: 'pg_dump' | 'pg_restore',
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<void> {
  await execute(join(FOLDER, tool), [...args], { env: { ...process.env, ...environment } })
}
