// Puts jobs into pg-boss's table inside the statement that reserves their key, which is what makes
// the two one transaction and one round trip. A test holds the row equal to what pg-boss sends.
import type { Fragment, Sql, Transaction } from './client.ts'
import { JOB_SCHEMA, OPERATIONS_QUEUE } from './queues.ts'

/**
 * A part of a statement: one job for the operation in `reserved`. The outer join makes a queue that
 * does not exist a violated not-null constraint: no key is ever reserved without its job.
 */
export function enqueueReserved(sql: Sql | Transaction): Fragment {
  return sql`
    insert into ${sql(JOB_SCHEMA)}.job (
      name, data, start_after, created_on, keep_until, retry_limit, retry_delay, retry_backoff,
      retry_delay_max, expire_seconds, deletion_seconds, policy, dead_letter
    )
    select
      ${OPERATIONS_QUEUE},
      jsonb_build_object('tenantId', reserved.tenant_id, 'operationId', reserved.id),
      now(), now(), now() + queue.retention_seconds * interval '1 second',
      queue.retry_limit, queue.retry_delay, queue.retry_backoff, queue.retry_delay_max,
      queue.expire_seconds, queue.deletion_seconds, queue.policy, queue.dead_letter
    from reserved
    left join ${sql(JOB_SCHEMA)}.queue on queue.name = ${OPERATIONS_QUEUE}
  `
}
