// Cleans up after a launcher that was killed: stops the PostgreSQL that still runs on the cluster,
// and makes its postmaster.pid harmless. The process id in that file may belong to another program
// now.
import { existsSync } from 'node:fs'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { execute } from './postgres-account.ts'
import { StartError } from '../start-error.ts'

const POLL_MS = 50
/** A fast shutdown rolls back and writes a checkpoint: a few seconds for a cluster of this size. */
const FAST_SHUTDOWN_MS = 15_000
const IMMEDIATE_SHUTDOWN_MS = 5_000

/**
 * Stops the server that still runs on a cluster, and makes its pid file harmless. The caller owns
 * the lock of the cluster's folder, so that a running server can only be an orphan.
 *
 * @throws StartError when the server does not end.
 */
export async function stopOrphan(cluster: string, log: (line: string) => void): Promise<void> {
  if (!existsSync(pidFileOf(cluster))) return
  const pid = Number.parseInt(await readFile(pidFileOf(cluster), 'utf8'), 10)
  if (await isServerOf(pid, cluster)) {
    log(`stopping a PostgreSQL that a killed launcher left running (process ${pid})`)
    await stopServer(pid, cluster)
  }
  await takeOverPidFile(cluster)
}

async function stopServer(pid: number, cluster: string): Promise<void> {
  process.kill(pid, 'SIGINT')
  if (await endsWithin(FAST_SHUTDOWN_MS, pid, cluster)) return
  process.kill(pid, 'SIGQUIT')
  if (await endsWithin(IMMEDIATE_SHUTDOWN_MS, pid, cluster)) return
  throw new StartError(
    `PostgreSQL (process ${pid}) runs on ${cluster} and does not stop. Kill it and try again.`,
  )
}

async function endsWithin(limitMs: number, pid: number, cluster: string): Promise<boolean> {
  const deadline = performance.now() + limitMs
  while (performance.now() < deadline) {
    if (!(await isServerOf(pid, cluster))) return true
    await delay(POLL_MS)
  }
  return false
}

/**
 * Replaces the process id of a dead server by the id of this process. PostgreSQL refuses to start
 * while a process with the id in the file is alive, unless that process is its parent, as this one
 * will be. The file must stay: its other lines name the shared memory that PostgreSQL checks.
 */
async function takeOverPidFile(cluster: string): Promise<void> {
  const path = pidFileOf(cluster)
  // A server that shut down has removed the file.
  if (!existsSync(path)) return
  const [, ...lines] = (await readFile(path, 'utf8')).split('\n')
  const rewritten = `${path}.rewritten`
  await writeFile(rewritten, [process.pid, ...lines].join('\n'))
  await rename(rewritten, path)
}

function pidFileOf(cluster: string): string {
  return join(cluster, 'postmaster.pid')
}

/** Checks the command line: the system may have reused the process id for another program. */
async function isServerOf(pid: number, cluster: string): Promise<boolean> {
  try {
    if (process.platform === 'linux') {
      return (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0').includes(cluster)
    }
    const { stdout } = await execute('ps', ['-ww', '-o', 'command=', '-p', String(pid)])
    return stdout.includes(` ${cluster} `)
  } catch {
    // Neither /proc nor ps lists the process: it has ended.
    return false
  }
}
