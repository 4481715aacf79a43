// Reports this process to operators every few seconds, beside its work: a report that fails hurts
// nothing, and the first of several failures is logged.
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Logger } from 'pino'
import type { Sql } from '../db/connection/client.ts'
import { withinMs } from '../db/connection/store-errors.ts'
import {
  REPORT_INTERVAL_MS,
  type CircuitReport,
  type ServiceProcess,
} from '../domain/deployment/service-process.ts'

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
      await recordProcess(sql, own, process.uptime(), circuits())
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

/** Deletes the processes that have reported nothing for an hour, and records that this one runs. */
export async function recordProcess(
  sql: Sql,
  { id, kind, host, queues, version }: ServiceProcess,
  uptimeSeconds: number,
  circuits: readonly CircuitReport[],
): Promise<void> {
  await sql`
    delete from service_processes where seen_at < now() - interval '1 hour' and id <> ${id}
  `
  await sql`
    insert into service_processes (id, kind, host, queues, version, circuits, started_at)
    values (
      ${id}, ${kind}, ${host}, ${[...queues]}, ${version}, ${JSON.stringify(circuits)}::jsonb,
      now() - ${uptimeSeconds} * interval '1 second'
    )
    on conflict (id) do update set seen_at = now(), circuits = excluded.circuits
  `
}

/** Deletes the row of a process that shuts down. */
export async function deleteProcess(sql: Sql, id: string): Promise<void> {
  await sql`delete from service_processes where id = ${id}`
}
