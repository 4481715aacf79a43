// Chooses the system account of the embedded PostgreSQL. PostgreSQL refuses to run as root, so that
// root starts it as the user `postgres`, which may be unable to enter root's folders.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { StartError } from '../start-error.ts'

/** Runs a program to its end. */
export const execute = promisify(execFile)

/** Options for `spawn`. Empty for a normal user, who runs PostgreSQL directly. */
export type ServerAccount = { uid: number; gid: number } | Record<string, never>

/**
 * Returns the account of the server. Under root, creates the user `postgres` if necessary.
 *
 * @throws StartError that says what to do, when the account cannot be created.
 */
export async function findServerAccount(): Promise<ServerAccount> {
  if (process.getuid?.() !== 0) return {}
  return (await lookUpPostgresUser()) ?? (await createPostgresUser())
}

/** Tries to enter the folder as the account, because ACLs and mounts matter as well as modes. */
export async function canEnter(account: ServerAccount, folder: string): Promise<boolean> {
  return succeeds('/bin/sh', ['-c', 'cd "$0"', folder], account)
}

/** Runs `<program> --version` as the account. */
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
    // `id` fails only when the user does not exist.
    return undefined
  }
}

async function createPostgresUser(): Promise<{ uid: number; gid: number }> {
  try {
    await execute('groupadd', ['--system', '--force', 'postgres'])
    const flags = ['--system', '--no-create-home', '--shell', '/usr/sbin/nologin', '-g', 'postgres']
    await execute('useradd', [...flags, 'postgres'])
  } catch (cause) {
    throw new StartError(
      'PostgreSQL does not run as root, and the system user "postgres" could not be created. ' +
        'Create it, run npm start as a normal user, or set DATABASE_URL to your PostgreSQL.',
      { cause },
    )
  }
  const account = await lookUpPostgresUser()
  if (account === undefined)
    throw new StartError('The system user "postgres" does not exist after useradd')
  return account
}
