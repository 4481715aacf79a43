// Finds when the job of an operation is tried again, for clients that ask in the meantime.
import type { OperationRef } from '../../domain/operations/operation.ts'
import type { Sql } from '../connection/client.ts'
import { inTenant } from '../connection/transaction.ts'
import { JOB_SCHEMA, OPERATIONS_QUEUE } from '../queue/queues.ts'

/** Seconds until the job starts, below 0 when it is due. Undefined when the operation has no job. */
export async function findSecondsUntilStart(
  sql: Sql,
  { tenantId, id }: OperationRef,
): Promise<number | undefined> {
  return await inTenant(sql, tenantId, async (tx) => {
    const [operation] = await tx<{ job: string }[]>`
      select job_id as job from idempotency_keys where tenant_id = ${tenantId} and id = ${id}
    `
    if (operation === undefined) return undefined
    const [row] = await tx<{ seconds: number }[]>`
      select extract(epoch from start_after - now())::float8 as seconds from ${tx(JOB_SCHEMA)}.job
      where name = ${OPERATIONS_QUEUE} and id = ${operation.job}
    `
    return row?.seconds
  })
}
