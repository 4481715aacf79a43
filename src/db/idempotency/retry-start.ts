// Finds when the job of an operation is tried again, for clients that ask in the meantime.
import type { OperationRef } from '../../domain/operations/operation.ts'
import type { Sql } from '../connection/client.ts'
import { seesTenant } from '../connection/row-security.ts'
import { JOB_SCHEMA, OPERATIONS_QUEUE } from '../queue/queues.ts'

/** Seconds until the job starts, below 0 when it is due. Undefined when the operation has no job. */
export async function findSecondsUntilStart(
  sql: Sql,
  { tenantId, id }: OperationRef,
): Promise<number | undefined> {
  const [row] = await sql<{ seconds: number | null }[]>`
    select (
      select extract(epoch from job.start_after - now())::float8 from ${sql(JOB_SCHEMA)}.job
      where job.name = ${OPERATIONS_QUEUE} and job.id = operation.job_id
    ) as seconds
    from idempotency_keys as operation
    where ${seesTenant(sql, tenantId)} and operation.tenant_id = ${tenantId}
      and operation.id = ${id}
  `
  return row?.seconds ?? undefined
}
