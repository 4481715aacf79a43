// Measures how much processor time the hypervisor gave to other machines. While it is much, a run may
// exceed limits of time that no service can keep.
import { readFileSync } from 'node:fs'

/** The columns of the first line of /proc/stat that do not count a part of another column, and `steal`. */
const COLUMNS = 8
const STEAL = 7

/**
 * Starts to measure. The returned function gives the share of all processor time since then that was
 * stolen, from 0 to 1; 0 where it is not counted.
 *
 * @see https://man7.org/linux/man-pages/man5/proc_stat.5.html
 */
export function measureStolenTime(readStat: () => string = readProcStat): () => number {
  const before = readTimes(readStat())
  return () => {
    const passed = readTimes(readStat()).map((time, column) => time - (before[column] ?? 0))
    const all = passed.reduce((sum, time) => sum + time, 0)
    return all > 0 ? (passed[STEAL] ?? 0) / all : 0
  }
}

function readTimes(stat: string): number[] {
  const [line = ''] = stat.split('\n')
  return line
    .trim()
    .split(/\s+/)
    .slice(1, COLUMNS + 1)
    .map(Number)
}

/** Only Linux has this file. */
function readProcStat(): string {
  try {
    return readFileSync('/proc/stat', 'utf8')
  } catch {
    return ''
  }
}
