// Describes the machine that runs the benchmark, and measures how busy other processes keep it.
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
  /** The repository's commit, followed by `+` if files have changed since. */
  readonly commit: string
  /** The share of all cores that other processes used before the measurements: 0 to 1. */
  readonly busyBefore: number
}

/** Above this share, other processes distort the figures. */
export const BUSY_LIMIT = 0.1

const BUSY_SAMPLE_MS = 1_500

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

/** Describes the machine in one line. A figure means nothing without it. */
export function showMachine({ cores, cpu, postgres, node, commit, ...machine }: Machine): string {
  const busy = `${Math.round(machine.busyBefore * 100)} % used by other processes before`
  return `${cores} × ${cpu}, PostgreSQL ${postgres}, Node ${node}, commit ${commit}, ${busy}`
}

async function readBusy(): Promise<number> {
  const before = await readMachineBusy()
  await delay(BUSY_SAMPLE_MS)
  const after = await readMachineBusy()
  return (after.busyMs - before.busyMs) / Math.max(1, after.allMs - before.allMs)
}

/** Returns `unknown` for a copy without Git history. */
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
