// Creates the cluster (PostgreSQL's word for its data folder) and the password of its superuser at
// the first start. A kill in the middle never leaves an incomplete cluster under the final name.
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chown, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { execute, type ServerAccount } from './postgres-account.ts'
import type { PostgresBinaries } from './postgres-places.ts'
import { StartError } from '../start-error.ts'

const UNFINISHED_PREFIX = 'unfinished-'

export interface Cluster {
  directory: string
  password: string
}

interface ClusterOptions {
  home: string
  binaries: PostgresBinaries
  account: ServerAccount
  durable: boolean
}

/**
 * Returns the cluster in a home folder, and creates it if necessary. The caller owns the folder's
 * lock.
 *
 * @throws StartError with the output of initdb as its cause.
 */
export async function ensureCluster(options: ClusterOptions): Promise<Cluster> {
  const { home, account } = options
  const passwordFile = join(home, 'password')
  const directory = join(home, 'cluster')
  if (!existsSync(directory)) {
    await removeUnfinished(home)
    await writeFile(passwordFile, randomBytes(24).toString('hex'), { mode: 0o600 })
    await changeOwner(account, passwordFile)
    const unfinished = await mkdtemp(join(home, UNFINISHED_PREFIX))
    await changeOwner(account, unfinished)
    await runInitdb(options, passwordFile, unfinished)
    await rename(unfinished, directory)
  }
  return { directory, password: await readFile(passwordFile, 'utf8') }
}

/** A failure is ignored: the initdb of a killed launcher may still be writing into its folder. */
async function removeUnfinished(home: string): Promise<void> {
  const leftovers = (await readdir(home)).filter((name) => name.startsWith(UNFINISHED_PREFIX))
  await Promise.allSettled(
    leftovers.map((name) => rm(join(home, name), { recursive: true, force: true })),
  )
}

async function runInitdb(
  { binaries, account, durable }: ClusterOptions,
  passwordFile: string,
  directory: string,
): Promise<void> {
  const flags = [
    `--pgdata=${directory}`,
    `--pwfile=${passwordFile}`,
    '--username=postgres',
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--no-locale',
    ...(durable ? [] : ['--no-sync']),
  ]
  try {
    await execute(binaries.initdb, flags, { ...account, cwd: '/' })
  } catch (cause) {
    throw new StartError('PostgreSQL could not create its data folder', { cause })
  }
}

async function changeOwner(account: ServerAccount, path: string): Promise<void> {
  if ('uid' in account) await chown(path, account.uid, account.gid)
}
