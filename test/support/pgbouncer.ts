// Starts a real PgBouncer in front of a database.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { findFreePort } from '../../dev/ports.ts'
import { requireProgram } from './find-program.ts'

/** Settings of PgBouncer, which reads them from a file. */
export type PgBouncerSettings = Readonly<Record<string, string | number>>

export interface PgBouncer {
  /** The URL of the database, through the pooler. */
  readonly url: string
  /** Makes the running pooler read changed settings, which takes it a moment. */
  reload(settings: PgBouncerSettings): Promise<void>
  stop(): Promise<void>
}

/**
 * Starts PgBouncer, which logs in as the user of the URL.
 *
 * @throws Error when it is not installed, or does not start.
 */
export async function startPgBouncer(
  databaseUrl: string,
  settings: PgBouncerSettings,
): Promise<PgBouncer> {
  const executable = requireProgram('pgbouncer')
  const { hostname, port, username, password, pathname } = new URL(databaseUrl)
  const folder = await mkdtemp(join(tmpdir(), 'atomic-payments-test-pgbouncer-'))
  const file = join(folder, 'pgbouncer.ini')
  const listenPort = await findFreePort()
  const write = (own: PgBouncerSettings) => {
    const all = {
      listen_addr: '127.0.0.1',
      listen_port: listenPort,
      unix_socket_dir: '',
      auth_type: 'any',
      ...settings,
      ...own,
    }
    const lines = Object.entries(all).map(([name, value]) => `${name} = ${value}`)
    const database = `* = host=${hostname} port=${port} user=${username} password=${password}`
    return writeFile(file, ['[databases]', database, '[pgbouncer]', ...lines].join('\n'))
  }
  await write({})
  // PgBouncer refuses to run as root.
  await chmod(folder, 0o755)
  const isRoot = process.getuid?.() === 0
  const account = isRoot ? ['-u', 'nobody'] : []
  const child = spawn(executable, [...account, file], { stdio: ['ignore', 'ignore', 'pipe'] })
  const exited = once(child, 'exit')
  const log = createInterface({ input: child.stderr })
  const logged = (text: string) =>
    new Promise<void>((resolve, reject) => {
      log.on('line', (line) => line.includes(text) && resolve())
      void exited.then(([code]) => reject(new Error(`PgBouncer exited with ${String(code)}`)))
    })
  await logged('process up')
  return {
    url: `postgres://${username}:${password}@127.0.0.1:${listenPort}${pathname}`,
    async reload(own) {
      await write(own)
      const reloaded = logged('re-reading config')
      child.kill('SIGHUP')
      await reloaded
    },
    async stop() {
      child.kill('SIGINT')
      await exited
      await rm(folder, { recursive: true })
    },
  }
}
