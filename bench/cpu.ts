// Reads the processor time that processes have used from Linux's /proc. The time of a process
// includes all of its children, also those that have exited.
import { readdir, readFile } from 'node:fs/promises'

/** Linux counts processor time in hundredths of a second. */
const MS_PER_TICK = 10

interface ProcessTimes {
  readonly pid: number
  readonly parent: number
  readonly ms: number
}

/**
 * Returns the milliseconds that these processes and their children have used since they started.
 */
export async function cpuMsOf(roots: readonly number[]): Promise<number> {
  const all = await readAll()
  const included = new Set(roots)
  // Pids wrap around: a child can have a smaller pid than its parent, so one pass is not enough.
  for (let before = 0; before < included.size;) {
    before = included.size
    for (const { pid, parent } of all) if (included.has(parent)) included.add(pid)
  }
  return all.filter(({ pid }) => included.has(pid)).reduce((sum, { ms }) => sum + ms, 0)
}

async function readAll(): Promise<ProcessTimes[]> {
  const names = await readdir('/proc')
  const times = await Promise.all(names.filter((name) => /^\d+$/.test(name)).map(readTimes))
  return times.filter((one) => one !== undefined)
}

/** Returns undefined for a process that has exited since the folder was listed. */
async function readTimes(pid: string): Promise<ProcessTimes | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  // The command's name is in parentheses and may contain spaces and parentheses.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ')
  if (fields === undefined) return undefined
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
  return { pid: Number(pid), parent: Number(fields[1]), ms: ticks * MS_PER_TICK }
}

/** Returns the busy time and the total time of all cores since boot. */
export async function readMachineBusy(): Promise<{ busyMs: number; allMs: number }> {
  const [line = ''] = (await readFile('/proc/stat', 'utf8')).split('\n')
  const [user = 0, nice = 0, system = 0, idle = 0, wait = 0, ...others] = line
    .split(/ +/)
    .slice(1, 9)
    .map(Number)
  const busy = user + nice + system + others.reduce((sum, ticks) => sum + ticks, 0)
  return { busyMs: busy * MS_PER_TICK, allMs: (busy + idle + wait) * MS_PER_TICK }
}
