// Records which API and worker processes run, for operators. Each process writes its own row, by the
// database's clock.
import {
  ALIVE_SECONDS,
  type CircuitReport,
  type ServiceProcess,
} from '../../domain/deployment/service-process.ts'
import type { Sql, Transaction } from '../connection/client.ts'
import { objectsOf } from '../connection/rows.ts'
import { inService } from '../connection/transaction.ts'
import type { serviceProcesses } from '../schema/service.ts'

/** What a process reports each time. */
export interface ProcessReport extends ServiceProcess {
  readonly uptimeSeconds: number
  readonly circuits: readonly CircuitReport[]
}

/** Deletes the processes that have reported nothing for an hour, and records that this one runs. */
export async function recordProcess(
  sql: Sql,
  { id, kind, host, queues, version, uptimeSeconds, circuits }: ProcessReport,
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

/**
 * Writes a row that no other transaction sees. It fails while the server accepts reads only, or its
 * disk is full.
 */
export async function tryWriting(sql: Sql, id: string): Promise<void> {
  await inService(sql, async (tx) => {
    await tx`
      insert into service_processes (id, kind, host, queues, version, circuits, started_at)
      values (${id}, 'api', '', '{}', '', '[]'::jsonb, now())
    `
    await tx`delete from service_processes where id = ${id}`
  })
}

/** Deletes the row of a process that shuts down. */
export async function deleteProcess(sql: Sql, id: string): Promise<void> {
  await sql`delete from service_processes where id = ${id}`
}

/** A process, with its last report. */
export type SeenProcess = Readonly<typeof serviceProcesses.$inferSelect> & {
  readonly alive: boolean
}

/** More than a large deployment has. */
const PROCESSES_SHOWN_MAX = 100

/** The processes that reported themselves in the last hour, those that did last first. */
export async function listProcesses(sql: Sql | Transaction): Promise<SeenProcess[]> {
  const seen = await sql`
    select *, seen_at > now() - ${ALIVE_SECONDS} * interval '1 second' as alive
    from service_processes
    order by seen_at desc, id desc
    limit ${PROCESSES_SHOWN_MAX}
  `
  return objectsOf<SeenProcess>(seen)
}
