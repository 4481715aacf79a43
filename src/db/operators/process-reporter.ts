// Reports this process to operators every few seconds, beside its work: a report that fails hurts
// nothing, and the first of several failures is logged.
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Logger } from 'pino'
import {
  REPORT_INTERVAL_MS,
  type CircuitReport,
  type ServiceProcess,
} from '../../domain/deployment/service-process.ts'
import type { Sql } from '../connection/client.ts'
import { withinMs } from '../connection/deadline.ts'
import { deleteProcess, recordProcess } from './service-processes.ts'

export interface ReporterParts {
  readonly sql: Sql
  readonly log: Logger
  readonly process: Pick<ServiceProcess, 'kind' | 'queues' | 'version'>
  readonly circuits: () => readonly CircuitReport[]
  /** By default that of the service. */
  readonly intervalMs?: number
}

export interface ProcessReporter {
  /** Reports nothing more, and deletes the report. Waits a moment at most. Never throws. */
  stop(): Promise<void>
}

/** A shutdown does not wait longer for a store that does not answer. */
const LAST_STATEMENT_MS = 1_000

/** Starts to report. */
export function startReporting(parts: ReporterParts): ProcessReporter {
  const { sql, log, circuits, intervalMs = REPORT_INTERVAL_MS } = parts
  const own = { ...parts.process, id: randomUUID(), host: hostname() }
  let failed = false
  let reporting: Promise<void> | undefined

  async function report(): Promise<void> {
    try {
      await recordProcess(sql, { ...own, uptimeSeconds: process.uptime(), circuits: circuits() })
      failed = false
    } catch (error) {
      if (!failed) log.warn({ err: error }, 'this process could not report itself to operators')
      failed = true
    }
  }
  const tick = (): void => {
    reporting ??= report().finally(() => (reporting = undefined))
  }
  tick()
  const timer = setInterval(tick, intervalMs).unref()

  return {
    async stop() {
      clearInterval(timer)
      const deleted = Promise.resolve(reporting).then(() => deleteProcess(sql, own.id))
      // Otherwise operators see it as gone, and another process deletes it after an hour.
      await withinMs(LAST_STATEMENT_MS, deleted).catch(() => {})
    },
  }
}
