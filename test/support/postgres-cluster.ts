// Starts and stops the PostgreSQL cluster of one jest run. Each test file has its own databases in
// it.
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { configVariables } from '../../src/config.ts'

const KEEPER = fileURLToPath(new URL('postgres-keeper.ts', import.meta.url))

/** The folder is removed at the end. */
type KeeperMessage =
  | { url: string; ownerUrl: string; template: string; folder: string }
  | { error: string }

let keeper: ChildProcess | undefined

/**
 * Starts the cluster and migrates the template database. Jest's workers get both names, and a
 * folder that is removed at the end, through the environment.
 *
 * @throws Error with the server's log when it does not start.
 */
export async function startPostgresCluster(): Promise<void> {
  // The settings of the developer's shell must not affect tests.
  for (const name of configVariables) delete process.env[name]
  const { NODE_OPTIONS: _, ...env } = process.env
  // A separate process group: Ctrl-C reaches only jest, and the keeper ends when jest has ended.
  keeper = fork(KEEPER, { env, detached: true, stdio: 'inherit', execArgv: [] })
  const message = await Promise.race([
    once(keeper, 'message').then(([received]) => received as KeeperMessage),
    once(keeper, 'exit').then(([code]) => ({ error: `the keeper ended with code ${code}` })),
  ])
  if ('error' in message) throw new Error(`The test cluster did not start: ${message.error}`)
  process.env['TEST_POSTGRES_URL'] = message.url
  process.env['TEST_POSTGRES_OWNER_URL'] = message.ownerUrl
  process.env['TEST_POSTGRES_TEMPLATE'] = message.template
  process.env['TEST_FOLDER'] = message.folder
}

/** Stops the cluster and removes its folder. */
export async function stopPostgresCluster(): Promise<void> {
  if (keeper?.connected !== true) return
  keeper.disconnect()
  await once(keeper, 'exit')
}
