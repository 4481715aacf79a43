// The machine that is measured on, and whether it has anything else to do.
import { execFile } from 'node:child_process'
import { cpus, totalmem } from 'node:os'
import { promisify } from 'node:util'
import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from '../src/db/connection/client.ts'
import { readMachineBusy } from './cpu.ts'

export interface Machine {
  readonly cpu: string
  readonly cores: number
  readonly memoryBytes: number
  readonly node: string
  readonly postgres: string
  /** Of the repository; with `+` when files were changed since. */
  readonly commit: string
  /** The share of all cores that others used while nothing was measured yet: 0 to 1. */
  readonly busyBefore: number
}

/** Beyond that, the figures are also those of something else. */
export const BUSY_LIMIT = 0.1

const LOOK_MS = 1_500

export async function readMachine(sql: Sql): Promise<Machine> {
  const all = cpus()
  const [row] = await sql<
    { version: string }[]
  >`select current_setting('server_version') as version`
  return {
    cpu: all[0]?.model ?? 'unknown',
    cores: all.length,
    memoryBytes: totalmem(),
    node: process.version,
    postgres: row?.version ?? 'unknown',
    commit: await readCommit(),
    busyBefore: await readBusy(),
  }
}

/** What to say of a machine that has something else to do. */
export function warningOf({ busyBefore }: Pick<Machine, 'busyBefore'>): string | undefined {
  if (busyBefore <= BUSY_LIMIT) return undefined
  const share = Math.round(busyBefore * 100)
  return `WARNING: something else uses ${share} % of this machine; the figures are its, too`
}

/** In one line: what a figure means nothing without. */
export function showMachine({ cores, cpu, postgres, node, commit, ...machine }: Machine): string {
  const busy = `${Math.round(machine.busyBefore * 100)} % busy with something else before`
  return `${cores} × ${cpu}, PostgreSQL ${postgres}, Node ${node}, commit ${commit}, ${busy}`
}

async function readBusy(): Promise<number> {
  const before = await readMachineBusy()
  await delay(LOOK_MS)
  const after = await readMachineBusy()
  return (after.busyMs - before.busyMs) / Math.max(1, after.allMs - before.allMs)
}

/** A copy without its history has no commit to name. */
export async function readCommit(): Promise<string> {
  const run = promisify(execFile)
  try {
    const { stdout: commit } = await run('git', ['rev-parse', '--short', 'HEAD'])
    const { stdout: changes } = await run('git', ['status', '--porcelain', '--untracked-files=no'])
    return `${commit.trim()}${changes === '' ? '' : '+'}`
  } catch {
    return 'unknown'
  }
}
