// Puts jobs into pg-boss's table inside the statement that writes what they are about, which is what
// makes the two one transaction and one round trip. A test holds the row equal to what pg-boss sends.
import type { Fragment, Sql, Transaction } from '../connection/client.ts'
import { JOB_SCHEMA, OPERATIONS_QUEUE } from './queues.ts'

/**
 * A part of a statement: one job for each operation in `reserved`, under the id that the operation's
 * row names, by which the sweeper tells whether it is still there.
 *
 * @param traceparent the span that the work is a part of, when somebody records it.
 */
export function enqueueReserved(sql: Sql | Transaction, traceparent?: string): Fragment {
  const named = sql`jsonb_build_object('tenantId', reserved.tenant_id, 'operationId', reserved.id)`
  const job =
    traceparent === undefined
      ? named
      : sql`${named} || jsonb_build_object('traceparent', ${traceparent}::text)`
  return insertJobs(sql, {
    queue: OPERATIONS_QUEUE,
    from: 'reserved',
    job,
    id: sql`reserved.job_id`,
  })
}

interface JobSource {
  readonly queue: string
  readonly from: string
  readonly job: Fragment
  readonly id?: Fragment
  readonly output?: Fragment
  readonly startAfter?: Fragment
}

/**
 * A part of a statement: one job for each row of the CTE `from`, with the data that the expression
 * `job` makes of it. The outer join makes a queue that does not exist a violated not-null constraint:
 * nothing is ever written without its job.
 *
 * @param id the job's own id; a new one when it is left out.
 * @param output what is known of it already, such as why it is a dead letter.
 * @param startAfter when it may start at the earliest; at once when it is left out.
 */
export function insertJobs(
  sql: Sql | Transaction,
  {
    queue,
    from,
    job,
    id = sql`gen_random_uuid()`,
    output = sql`null::jsonb`,
    startAfter = sql`now()`,
  }: JobSource,
): Fragment {
  return sql`
    insert into ${sql(JOB_SCHEMA)}.job (
      id, name, data, start_after, created_on, keep_until, retry_limit, retry_delay, retry_backoff,
      retry_delay_max, expire_seconds, heartbeat_seconds, deletion_seconds, policy, dead_letter,
      output
    )
    select
      ${id}, ${queue}, ${job},
      ${startAfter}, now(), ${startAfter} + queue.retention_seconds * interval '1 second',
      queue.retry_limit, queue.retry_delay, queue.retry_backoff, queue.retry_delay_max,
      queue.expire_seconds, queue.heartbeat_seconds, queue.deletion_seconds, queue.policy,
      queue.dead_letter, ${output}
    from ${sql(from)}
    left join ${sql(JOB_SCHEMA)}.queue on queue.name = ${queue}
  `
}
