// Fills the database as years of operation would, by set-based SQL: completed keys with their
// payments, tombstones of earlier keys, completed jobs and a few hundred unfinished operations.
import type { Sql } from '../src/db/connection/client.ts'
import { JOB_SCHEMA, OPERATIONS_QUEUE } from '../src/db/queue/jobs.ts'
import { inTransaction } from '../src/db/connection/transaction.ts'
import type { BenchTenant } from './stack.ts'

/** The age of the oldest key. Keys are retained for a day, so four fifths of them have expired. */
const SPAN_SECONDS = 5 * 24 * 60 * 60

/**
 * Rows in one statement: it takes a second or two, so that the progress moves and an interrupt
 * works.
 */
const CHUNK = 25_000

const JOBS_MAX = 100_000
/** Operations of each unfinished status: as many as the sweeper handles in one statement. */
const UNFINISHED_EACH = 50

/** Disk space of a seeded key with its payment and its share of everything else. */
export const BYTES_PER_KEY = 2_500

/** The lowest seeding speed to expect. */
export const KEYS_PER_SECOND = 10_000

export interface SeedPlan {
  readonly keys: number
  readonly tenants: readonly BenchTenant[]
}

/** Seeds everything. Reports the number of keys after each chunk. */
export async function seedAll(
  sql: Sql,
  { keys, tenants }: SeedPlan,
  progressed: (keys: number) => void,
): Promise<void> {
  const ids = tenants.map(({ id }) => id)
  await seedCompleted(sql, { keys, tenants }, progressed)
  await insertTombstones(sql, ids, keys)
  await insertCompletedJobs(sql, Math.min(JOBS_MAX, Math.floor(keys / 5)))
  await insertUnfinished(sql, ids)
  await insertFindings(sql)
  await sql`vacuum (analyze)`
  await sql`checkpoint`
}

/** Seeds only completed keys and their payments. Reports the number of keys after each chunk. */
export async function seedCompleted(
  sql: Sql,
  { keys, tenants }: SeedPlan,
  progressed: (keys: number) => void,
): Promise<void> {
  const ids = tenants.map(({ id }) => id)
  for (let from = 0; from < keys; from += CHUNK) {
    const count = Math.min(CHUNK, keys - from)
    const age = (number: number) => SPAN_SECONDS * (1 - number / keys)
    await insertCompleted(sql, ids, { count, oldest: age(from), youngest: age(from + count) })
    progressed(from + count)
  }
}

interface Chunk {
  readonly count: number
  /** Ages of the chunk's first and last key, in seconds. */
  readonly oldest: number
  readonly youngest: number
}

/** Skips the foreign-key checks: each key is inserted together with its payment. */
async function insertCompleted(sql: Sql, tenants: readonly string[], chunk: Chunk): Promise<void> {
  await inTransaction(sql, async (tx) => {
    await tx`set local session_replication_role = replica`
    await tx`
      with aged as materialized (
        select
          (${tenants as string[]}::uuid[])[1 + floor(${tenants.length}::int * power(random(), 2))::int]
            as tenant_id,
          now() - (
            ${chunk.oldest}::float8
              - (${chunk.oldest}::float8 - ${chunk.youngest}::float8) * number / ${chunk.count}::int
          ) * interval '1 second' as created_at
        from generate_series(1, ${chunk.count}::int) as number
      ),
      seeded as materialized (
        select
          tenant_id, created_at,
          uuidv7(created_at - now()) as id,
          uuidv7(created_at - now()) as payment_id,
          'order-' || gen_random_uuid() as key,
          'pi_' || left(replace(gen_random_uuid()::text, '-', ''), 24) as provider_payment_id,
          100 + floor(random() * 100000)::int as amount
        from aged
      ),
      inserted_payment as (
        insert into payments (
          tenant_id, id, amount_minor, amount_captured_minor, currency, status, previous_status,
          capture_method, payment_method, description, metadata, provider, provider_payment_id,
          client_secret, created_at, updated_at
        )
        select
          tenant_id, payment_id, amount, amount, 'usd', 'succeeded', 'processing', 'automatic',
          'pm_card_visa', 'An order of the shop', jsonb_build_object('order', key), 'stripe',
          provider_payment_id, provider_payment_id || '_secret_' || left(key, 24), created_at,
          created_at
        from seeded
      )
      insert into idempotency_keys (
        tenant_id, id, key, fingerprint, operation, payment_id, status, recovery_point, lease_epoch,
        attempts, phase_began_at, job_id, response_status, response_headers, response_body,
        created_at, finished_at, expires_at
      )
      select
        tenant_id, id, key, sha256(convert_to(key, 'UTF8')), 'payment.create', payment_id,
        'completed', 'finished', 1, 1, created_at, gen_random_uuid(), 201,
        jsonb_build_object(
          'content-type', 'application/json; charset=utf-8',
          'location', '/v1/payments/' || payment_id
        ),
        format(
          ${RESPONSE_BODY}, payment_id, amount, amount, key, provider_payment_id, created_at,
          created_at
        ),
        created_at, created_at + interval '1 second', created_at + interval '1 day 1 second'
      from seeded
    `
  })
}

/** The size of a real payment response: about 600 bytes. */
const RESPONSE_BODY =
  '{"id":"pay_%s","object":"payment","amount":%s,"amount_captured":%s,"amount_refunded":0,' +
  '"currency":"usd","status":"succeeded","capture_method":"automatic",' +
  '"payment_method":"pm_card_visa","customer":null,"description":"An order of the shop",' +
  '"metadata":{"order":"%s"},"failure":null,"provider":"stripe","provider_payment_id":"%s",' +
  '"client_secret":null,"next_action":null,"created_at":"%s","updated_at":"%s"}'

/** A tenth of the tombstones is older than their retention, so that the reaper can delete them. */
const OLDEST_TOMBSTONE_SECONDS = 405 * 24 * 60 * 60

/** Inserts tombstones spread over more than a year, which is how long the service retains them. */
async function insertTombstones(sql: Sql, tenants: readonly string[], count: number) {
  const deletedAt = sql`
    now() - interval '5 days'
      - ${OLDEST_TOMBSTONE_SECONDS}::float8 * (1 - number::float8 / ${count}::int) * interval '1 second'
  `
  await sql`
    insert into key_tombstones (tenant_id, key_hash, payment_id, expired_at, deleted_at)
    select
      (${tenants as string[]}::uuid[])[1 + floor(${tenants.length}::int * power(random(), 2))::int],
      sha256(convert_to('earlier-' || number, 'UTF8')), uuidv7(),
      ${deletedAt}, ${deletedAt}
    from generate_series(1, ${count}::int) as number
  `
}

/** Inserts completed jobs of the last 40 minutes. The service keeps jobs for an hour. */
async function insertCompletedJobs(sql: Sql, count: number): Promise<void> {
  await sql`
    insert into ${sql(JOB_SCHEMA)}.job (
      id, name, data, state, policy, start_after, created_on, started_on, completed_on, keep_until,
      retry_limit, retry_delay, retry_backoff, expire_seconds, deletion_seconds
    )
    select
      gen_random_uuid(), queue.name,
      jsonb_build_object('tenantId', gen_random_uuid(), 'operationId', gen_random_uuid()),
      'completed', queue.policy, completed_at, completed_at, completed_at, completed_at,
      completed_at + interval '14 days',
      queue.retry_limit, queue.retry_delay, queue.retry_backoff, queue.expire_seconds,
      queue.deletion_seconds
    from (
      select now() - number::float8 / ${count}::int * interval '40 minutes' as completed_at
      from generate_series(1, ${count}::int) as number
    ) as times
    join ${sql(JOB_SCHEMA)}.queue on queue.name = ${OPERATIONS_QUEUE}
  `
}

/**
 * Inserts unfinished operations. None of them is due, so that sweeper and outcome resolver find no
 * work.
 */
async function insertUnfinished(sql: Sql, tenants: readonly string[]): Promise<void> {
  await sql`
    with seeded as materialized (
      select
        (${tenants as string[]}::uuid[])[1 + (number - 1) % ${tenants.length}::int] as tenant_id,
        uuidv7() as id, uuidv7() as payment_id, gen_random_uuid() as job_id,
        'order-' || gen_random_uuid() as key, kind.*
      from generate_series(1, ${UNFINISHED_EACH}::int) as number,
        (values
          ('pending', 'processing', null),
          ('processing', 'processing', null),
          ('failed_retryable', 'failed', 'processing'),
          ('unknown', 'unknown', 'processing')
        ) as kind (status, payment_status, payment_status_before)
    ),
    inserted_payment as (
      insert into payments (
        tenant_id, id, amount_minor, currency, status, previous_status, capture_method,
        payment_method, metadata, provider
      )
      select
        tenant_id, payment_id, 1999, 'usd', payment_status, payment_status_before, 'automatic',
        'pm_card_visa', '{}', 'stripe'
      from seeded
    ),
    reserved as (
      insert into idempotency_keys (
        tenant_id, id, key, fingerprint, operation, payment_id, status, lease_epoch,
        lease_expires_at, attempts, in_doubt, phase_began_at, job_id, unknown_at, next_check_at,
        checked_at, expires_at
      )
      select
        tenant_id, id, key, sha256(convert_to(key, 'UTF8')), 'payment.create', payment_id, status,
        case status when 'pending' then 0 else 1 end,
        case status when 'processing' then now() + interval '1 day' end,
        case status when 'pending' then 0 else 1 end,
        status = 'unknown',
        case when status in ('processing', 'unknown') then now() end,
        job_id,
        case status when 'unknown' then now() end,
        case status when 'unknown' then now() + interval '1 day' end,
        case status when 'unknown' then now() end,
        now() + interval '1 day'
      from seeded
      returning *
    )
    insert into ${sql(JOB_SCHEMA)}.job (
      id, name, data, policy, keep_until, retry_limit, retry_delay, retry_backoff, retry_delay_max,
      expire_seconds, deletion_seconds, dead_letter
    )
    select
      reserved.job_id, queue.name,
      jsonb_build_object('tenantId', reserved.tenant_id, 'operationId', reserved.id),
      queue.policy, now() + interval '14 days', queue.retry_limit, queue.retry_delay,
      queue.retry_backoff, queue.retry_delay_max, queue.expire_seconds, queue.deletion_seconds,
      queue.dead_letter
    from reserved
    join ${sql(JOB_SCHEMA)}.queue on queue.name = ${OPERATIONS_QUEUE}
    where reserved.status = 'pending'
  `
}

/** Inserts one open finding and ten resolved ones for each operation with an unknown outcome. */
async function insertFindings(sql: Sql): Promise<void> {
  await sql`
    insert into reconciliation_findings (
      id, provider, kind, object_id, tenant_id, payment_id, operation_id, ours, status, resolved_at,
      resolved_by
    )
    select
      gen_random_uuid(), 'stripe', 'outcome_unknown', 'op_' || id || '_' || number, tenant_id,
      payment_id, id, '{}',
      case number when 0 then 'open' else 'resolved' end,
      case number when 0 then null else now() end,
      case number when 0 then null else 'reconciler' end
    from idempotency_keys, generate_series(0, 10) as number
    where status = 'unknown'
  `
}
