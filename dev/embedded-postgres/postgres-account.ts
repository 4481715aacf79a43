// The system account that the embedded PostgreSQL runs as. PostgreSQL refuses to run as root, so
// for root it is the user `postgres`, who may not be able to enter root's own folders.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { StartError } from '../start-error.ts'

const execute = promisify(execFile)

/** Spread into the options of `spawn`: empty for a normal user, who runs PostgreSQL as himself. */
export type ServerAccount = { uid: number; gid: number } | Record<string, never>

/**
 * The account of the server, made first when we are root and the machine has none.
 *
 * @throws StartError saying what to do when the account can be neither found nor made.
 */
export async function findServerAccount(): Promise<ServerAccount> {
  if (process.getuid?.() !== 0) return {}
  return (await lookUpPostgresUser()) ?? (await createPostgresUser())
}

/** Whether the account can enter a folder, found out by trying: ACLs and mounts count as well. */
export async function canEnter(account: ServerAccount, folder: string): Promise<boolean> {
  return succeeds('/bin/sh', ['-c', 'cd "$0"', folder], account)
}

/** Whether the account can run a program, found out by asking the program for its version. */
export async function canRun(account: ServerAccount, program: string): Promise<boolean> {
  return succeeds(program, ['--version'], account)
}

async function succeeds(program: string, args: string[], account: ServerAccount): Promise<boolean> {
  return execute(program, args, { ...account, cwd: '/' }).then(
    () => true,
    () => false,
  )
}

async function lookUpPostgresUser(): Promise<{ uid: number; gid: number } | undefined> {
  try {
    const uid = await execute('id', ['-u', 'postgres'])
    const gid = await execute('id', ['-g', 'postgres'])
    return { uid: Number(uid.stdout), gid: Number(gid.stdout) }
  } catch {
    // `id` fails for one reason only: there is no such user.
    return undefined
  }
}

async function createPostgresUser(): Promise<{ uid: number; gid: number }> {
  try {
    await execute('groupadd', ['--system', '--force', 'postgres'])
    const shell = ['--shell', '/usr/sbin/nologin']
    await execute('useradd', [
      '--system',
      '--no-create-home',
      ...shell,
      '-g',
      'postgres',
      'postgres',
    ])
  } catch (cause) {
    throw new StartError(
      'PostgreSQL does not run as root, and the system user "postgres" could not be made. ' +
        'Make it, start as a normal user, or set DATABASE_URL to a PostgreSQL of your own.',
      { cause },
    )
  }
  const account = await lookUpPostgresUser()
  if (account === undefined)
    throw new StartError('The system user "postgres" vanished after useradd')
  return account
}
