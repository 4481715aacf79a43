// Fetches jobs in turns. A webhook endpoint with due jobs has a group, and for other jobs a tenant. The
// index leads from each group to the next one, however many jobs lie between them: beside 100,000 jobs of
// 100 tenants, 90 % of them of one, a fetch for 16 slots takes 1.7 ms, and pg-boss's by groups 212:
// docs/decisions/0040-tenants-take-turns.md.
import type { Fragment, Sql, Transaction } from '../connection/client.ts'
import {
  JOB_SCHEMA,
  type OPERATIONS_QUEUE,
  type PROVIDER_EVENTS_QUEUE,
  type REMINDERS_QUEUE,
  type WEBHOOKS_QUEUE,
} from './jobs.ts'

/** The queues whose jobs name a tenant. */
export type SharedQueue =
  | typeof OPERATIONS_QUEUE
  | typeof PROVIDER_EVENTS_QUEUE
  | typeof REMINDERS_QUEUE
  | typeof WEBHOOKS_QUEUE

/** Malformed jobs, and the provider's events that name no tenant, share one group. */
export interface JobGroup {
  readonly tenant: string
  readonly endpoint: string
}

export const groupOf = ({ tenant, endpoint }: JobGroup): string => tenant + endpoint

export interface FetchedJob extends JobGroup {
  readonly id: string
  readonly data: unknown
  /** Names this try: pg-boss accepts the result of no other. */
  readonly retryCount: number
  /** The position of its group in this fetch, and how many jobs of the group it could return. */
  readonly position: number
  readonly share: number
}

/** What a process may fetch. */
export interface FetchLimits {
  readonly after: JobGroup
  readonly slots: number
  /** How many jobs of one group this fetch may return. */
  readonly perGroup: number
  /** Groups that may have no more jobs in this process. */
  readonly fullGroups: readonly string[]
  /** When the slots are only for the first jobs of other tenants: those with jobs in this process. */
  readonly busyTenants?: readonly string[]
}

const tenant = (sql: Sql | Transaction): Fragment => sql`coalesce(data ->> 'tenantId', '')`
const endpoint = (sql: Sql | Transaction): Fragment => sql`coalesce(data ->> 'endpointId', '')`

/** Inserts wait while it is built. */
export async function createFairFetchIndex(tx: Transaction): Promise<void> {
  await tx`
    create index if not exists job_turns on ${tx(JOB_SCHEMA)}.job_common (
      name, (${tenant(tx)}), (${endpoint(tx)}), start_after
    ) where state < 'active' and not blocked
  `
}

/**
 * Fetches due jobs of several groups. The recursion goes from one group with due jobs to the next, from
 * `after` on, until it is back at one that it has seen, or has enough of them. Locked jobs belong to
 * another process. The new state is that of pg-boss's own fetch. The name of the queue is in the text, for
 * the planner and the logs.
 */
export async function fetchFairly(
  sql: Sql,
  queue: SharedQueue,
  limits: FetchLimits,
): Promise<FetchedJob[]> {
  const { after, slots, busyTenants = [], fullGroups } = limits
  const [ofTenant, ofEndpoint] = [tenant(sql), endpoint(sql)]
  const isDue = sql`${sql.unsafe(`name = '${queue}'`)} and state < 'active' and not blocked and start_after <= now()`
  const isNext = limits.busyTenants
    ? sql`${ofTenant} > turn.tenant`
    : sql`(${ofTenant}, ${ofEndpoint}) > (turn.tenant, turn.endpoint)`
  return await sql<FetchedJob[]>`
    with recursive turn (tenant, endpoint, is_start) as (
      select ${after.tenant}::text, ${after.endpoint}::text, true
      union
      select next.*, false from turn cross join lateral (
        (
          select ${ofTenant}, ${ofEndpoint} from ${sql(JOB_SCHEMA)}.job where ${isDue} and ${isNext}
          order by ${ofTenant}, ${ofEndpoint}, start_after limit 1
        )
        union all
        (
          select ${ofTenant}, ${ofEndpoint} from ${sql(JOB_SCHEMA)}.job where ${isDue}
          order by ${ofTenant}, ${ofEndpoint}, start_after limit 1
        )
        limit 1
      ) as next
    ),
    job_group as (
      select
        tenant, endpoint, row_number() over ()::int as position,
        greatest(1, least(${limits.perGroup}::int, ${slots}::int / count(*) over ()))::int as share
      from (
        select tenant, endpoint from turn
        where not is_start and tenant <> all(${[...busyTenants]}::text[])
          and tenant || endpoint <> all(${[...fullGroups]}::text[])
        limit ${slots}
      ) as turn
    ),
    chosen as materialized (
      select job.id, job_group.* from job_group cross join lateral (
        select id from ${sql(JOB_SCHEMA)}.job
        where ${isDue} and ${ofTenant} = job_group.tenant and ${ofEndpoint} = job_group.endpoint
        order by start_after limit (select job_group.share) for update skip locked
      ) as job
    )
    update ${sql(JOB_SCHEMA)}.job as job set
      state = 'active', started_on = now(), heartbeat_on = now(),
      retry_count = case when started_on is null then retry_count else retry_count + 1 end
    from chosen where ${isDue} and job.id = chosen.id
    returning job.id, data, retry_count as "retryCount", tenant, endpoint, position, share
  `
}

/** Whether a fetch may have left due jobs to the next one: a group has got its share. */
export const mayLeaveJobs = (jobs: readonly FetchedJob[]): boolean =>
  [...Map.groupBy(jobs, groupOf).values()].some((own) => own.length >= (own[0]?.share ?? 0))
