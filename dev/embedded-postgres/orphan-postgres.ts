// What a launcher that was killed leaves behind: a PostgreSQL that still runs on the cluster, or
// its postmaster.pid, whose process id may be a stranger's by now.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { StartError } from '../start-error.ts'

const execute = promisify(execFile)

const POLL_MS = 50
/** A fast shutdown rolls back and writes a checkpoint: seconds at most, for a cluster of this kind. */
const FAST_SHUTDOWN_MS = 15_000
const IMMEDIATE_SHUTDOWN_MS = 5_000

/**
 * Stops the server that still runs on a cluster, and makes its pid file harmless. The caller holds
 * the lock of the cluster's folder, so whoever runs there has lost its launcher.
 *
 * @throws StartError when the server does not end.
 */
export async function stopOrphan(cluster: string, log: (line: string) => void): Promise<void> {
  if (!existsSync(pidFileOf(cluster))) return
  const pid = Number.parseInt(await readFile(pidFileOf(cluster), 'utf8'), 10)
  if (await isServerOf(pid, cluster)) {
    log(`stopping the PostgreSQL that a killed launcher left running (process ${pid})`)
    await stopServer(pid, cluster)
  }
  await takeOverPidFile(cluster)
}

async function stopServer(pid: number, cluster: string): Promise<void> {
  process.kill(pid, 'SIGINT')
  if (await endsWithin(FAST_SHUTDOWN_MS, pid, cluster)) return
  process.kill(pid, 'SIGQUIT')
  if (await endsWithin(IMMEDIATE_SHUTDOWN_MS, pid, cluster)) return
  throw new StartError(`PostgreSQL, process ${pid}, runs on ${cluster} and cannot be stopped`)
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
 * Writes our own process id over that of a dead server. PostgreSQL takes any living process of that
 * number for a rival, except its parent, which we are; the file itself must stay, because its other
 * lines name the shared memory that PostgreSQL has to find unused.
 */
async function takeOverPidFile(cluster: string): Promise<void> {
  const path = pidFileOf(cluster)
  // An orderly stop has removed it.
  if (!existsSync(path)) return
  const [, ...lines] = (await readFile(path, 'utf8')).split('\n')
  const rewritten = `${path}.rewritten`
  await writeFile(rewritten, [process.pid, ...lines].join('\n'))
  await rename(rewritten, path)
}

function pidFileOf(cluster: string): string {
  return join(cluster, 'postmaster.pid')
}

/** By its command line: a process id alone may have been given to another program since. */
async function isServerOf(pid: number, cluster: string): Promise<boolean> {
  try {
    if (process.platform === 'linux') {
      return (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0').includes(cluster)
    }
    const { stdout } = await execute('ps', ['-ww', '-o', 'command=', '-p', String(pid)])
    return stdout.includes(` ${cluster} `)
  } catch {
    // Neither /proc nor ps knows the process: it has ended.
    return false
  }
}
