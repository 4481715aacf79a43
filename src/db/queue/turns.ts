// Fetches jobs in turns: each tenant with due jobs gets the next place in order of its id, and a
// tenant's endpoints take turns within it. A backlog costs nothing: the index leads from each
// tenant to the next one, however many jobs lie between them.
import type { Fragment, Sql, Transaction } from '../connection/client.ts'
import {
  JOB_SCHEMA,
  OPERATIONS_QUEUE,
  PROVIDER_EVENTS_QUEUE,
  REMINDERS_QUEUE,
  WEBHOOKS_QUEUE,
} from './queues.ts'

/** The queues whose jobs name a tenant. */
export type SharedQueue = keyof typeof isIn

export interface FetchedJob {
  readonly id: string
  readonly data: unknown
  /** Names this try: pg-boss accepts the result of no other. */
  readonly retryCount: number
  /** The turn of its tenant, in the order of this fetch. */
  readonly place: number
  /** How many jobs of its tenant this fetch could return. */
  readonly share: number
  readonly tenant: string
  /** The tenant and the receiver of the job: a webhook endpoint, or none. */
  readonly lane: string
}

/** Their pauses double from JOB_RETRY_DELAY_SECONDS: by default they take more than a minute together. */
const TRIES_BEFORE_VISIBLE = 8

/**
 * Whether the row that a job names may still become visible. With distributed tables the coordinator
 * commits the job first. If it crashes before the node has committed the row, Citus does that within a
 * minute (`citus.recover_2pc_interval`).
 */
export function mayBecomeVisible({ retryCount }: Pick<FetchedJob, 'retryCount'>): boolean {
  return retryCount < TRIES_BEFORE_VISIBLE
}

/** What a process may fetch. */
export interface Room {
  /** The tenant after which the next turn starts. */
  readonly after: string
  readonly freePlaces: number
  /** How many of these are only for a first job of tenants without jobs in this process. */
  readonly reservedPlaces: number
  /** Tenants and lanes with jobs in this process. */
  readonly busyTenants: readonly string[]
  readonly busyLanes: readonly string[]
  /** Lanes that may have no more jobs in this process. */
  readonly fullLanes: readonly string[]
  /** How many jobs of one lane one fetch may return. */
  readonly perLane: number
}

/**
 * A malformed job belongs to no tenant, and neither do the provider's events that name none: they
 * share one turn. Only webhooks have endpoints.
 */
const tenant = (sql: Sql | Transaction): Fragment => sql`coalesce(data ->> 'tenantId', '')`
const endpoint = (sql: Sql | Transaction): Fragment => sql`coalesce(data ->> 'endpointId', '')`

/**
 * Creates the index that the fetch needs, after pg-boss has created its table. Inserts wait while
 * it is built.
 */
export async function createTurnsIndex(tx: Transaction): Promise<void> {
  await tx`
    create index if not exists job_turns on ${tx(JOB_SCHEMA)}.job_common (
      name, (${tenant(tx)}), (${endpoint(tx)}), start_after
    ) where state < 'active' and not blocked
  `
}

/** The names are in the text, so that the planner and the logs see which queue it is. */
const isIn = {
  [OPERATIONS_QUEUE]: (sql: Sql) => sql`name = 'operations'`,
  [PROVIDER_EVENTS_QUEUE]: (sql: Sql) => sql`name = 'provider-events'`,
  [REMINDERS_QUEUE]: (sql: Sql) => sql`name = 'reminders'`,
  [WEBHOOKS_QUEUE]: (sql: Sql) => sql`name = 'webhook-deliveries'`,
}

const dueIn = (sql: Sql, queue: SharedQueue): Fragment => sql`
  ${isIn[queue](sql)} and state < 'active' and not blocked and start_after <= now()
`

/**
 * Fetches due jobs of several tenants: the first job of each tenant that has none here, then one
 * more of each, and so on. `turn` walks the tenants from `after` on, once around, until there are
 * enough without jobs here; its first row is only the start. Locked jobs belong to another process. The
 * new state is that of pg-boss's own fetch.
 */
export async function fetchInTurn(sql: Sql, queue: SharedQueue, room: Room): Promise<FetchedJob[]> {
  const { after, freePlaces, busyTenants } = room
  const sharedPlaces = sharedPlacesOf(room)
  const isIdle = sql`next.tenant <> all(${[...busyTenants]}::text[])`
  return await sql<FetchedJob[]>`
    with recursive turn (tenant, wrapped, idle, idle_tenants) as (
      select ${after}::text, false, false, 0
      union all
      select next.tenant, next.wrapped, ${isIdle}, idle_tenants + (${isIdle})::int
      from turn cross join lateral (
        (
          select ${tenant(sql)} as tenant, turn.wrapped from ${sql(JOB_SCHEMA)}.job
          where ${dueIn(sql, queue)} and ${tenant(sql)} > turn.tenant
          order by ${tenant(sql)}, ${endpoint(sql)}, start_after limit 1
        )
        union all
        (
          select ${tenant(sql)}, true from ${sql(JOB_SCHEMA)}.job
          where ${dueIn(sql, queue)} and not turn.wrapped
          order by ${tenant(sql)}, ${endpoint(sql)}, start_after limit 1
        )
        limit 1
      ) as next
      where idle_tenants < ${freePlaces}::int
        and not (next.wrapped and next.tenant > ${after}::text)
    ),
    tenant as (
      select
        tenant, idle, row_number() over () as place,
        ceil(${freePlaces}::float8 / count(*) over ())::int as share
      from (select * from turn offset 1) as turn
      where idle or ${sharedPlaces}::int > 0
    ),
    candidate as (
      select
        job.id, idle, place, share, row_number() over (partition by place) as round
      from tenant cross join lateral (${lockJobsOfTenant(sql, queue, room)}) as job
    ),
    chosen as materialized (
      select id, place, share from (
        select *, row_number() over (order by (idle and round = 1) desc, round, place) as position
        from candidate
      ) as candidate
      where position <= case when idle and round = 1 then ${freePlaces}::int else ${sharedPlaces}::int end
    )
    update ${sql(JOB_SCHEMA)}.job as job set
      state = 'active', started_on = now(), heartbeat_on = now(),
      retry_count = case when started_on is null then retry_count else retry_count + 1 end
    from chosen where ${dueIn(sql, queue)} and job.id = chosen.id
    returning
      job.id, data, retry_count as "retryCount", place::int, share, ${tenant(sql)} as tenant,
      ${tenant(sql)} || ${endpoint(sql)} as lane
  `
}

/** Whether a fetch may have left due jobs to the next one: it reached one of its limits. */
export function mayLeaveJobs(jobs: readonly FetchedJob[], room: Room): boolean {
  const [ofTenants, ofLanes] = [countBy(jobs, 'tenant'), countBy(jobs, 'lane')]
  return jobs.some(
    (job) =>
      jobs.length >= sharedPlacesOf(room) ||
      (ofTenants.get(job.tenant) ?? 0) >= job.share ||
      (ofLanes.get(job.lane) ?? 0) >= room.perLane,
  )
}

/** The places that any job may take. */
function sharedPlacesOf({ freePlaces, reservedPlaces }: Room): number {
  return Math.max(0, freePlaces - reservedPlaces)
}

function countBy(jobs: readonly FetchedJob[], name: 'tenant' | 'lane'): Map<string, number> {
  const counts = new Map<string, number>()
  for (const job of jobs) counts.set(job[name], (counts.get(job[name]) ?? 0) + 1)
  return counts
}

/**
 * A part of a statement: the due jobs of the tenant in `tenant`, at most its share. The endpoints
 * without jobs in this process come first, then those whose jobs wait for longest.
 */
function lockJobsOfTenant(
  sql: Sql,
  queue: SharedQueue,
  { busyLanes, fullLanes, perLane }: Room,
): Fragment {
  const jobs = sql`
    from ${sql(JOB_SCHEMA)}.job
    where ${dueIn(sql, queue)} and ${tenant(sql)} = tenant.tenant
  `
  return sql`
    with recursive lane (endpoint, start_after) as (
      (
        select ${endpoint(sql)}, start_after ${jobs}
        order by ${endpoint(sql)}, start_after limit 1
      )
      union all
      select next.* from lane cross join lateral (
        select ${endpoint(sql)}, job.start_after ${jobs}
          and ${endpoint(sql)} > lane.endpoint
        order by ${endpoint(sql)}, start_after limit 1
      ) as next
    )
    select job.id from (
      select endpoint from lane
      where tenant.tenant || endpoint <> all(${[...fullLanes]}::text[])
      order by tenant.tenant || endpoint = any(${[...busyLanes]}::text[]), start_after
      limit (select tenant.share)
    ) as lane
    cross join lateral (
      select id ${jobs} and ${endpoint(sql)} = lane.endpoint
      order by start_after limit (select least(tenant.share, ${perLane}::int))
      for update skip locked
    ) as job
    limit (select tenant.share)
  `
}

/** Makes the next failure of these jobs their last one: pg-boss then moves them to the dead letters. */
export async function forbidRetries(
  sql: Sql,
  queue: SharedQueue,
  jobs: readonly Pick<FetchedJob, 'id'>[],
): Promise<void> {
  await sql`
    update ${sql(JOB_SCHEMA)}.job set retry_limit = retry_count
    where name = ${queue} and id = any(${jobs.map(({ id }) => id)}::uuid[]) and state = 'active'
  `
}
