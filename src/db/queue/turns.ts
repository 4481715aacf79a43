// Fetches jobs in turns. A webhook endpoint with due jobs has a lane, and for other jobs a tenant. The
// index leads from each lane to the next one, however many jobs lie between them: beside 100,000 jobs of
// 100 tenants, 90 % of them of one, a fetch for 16 places takes 1.7 ms, and pg-boss's by groups 212:
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

/** Malformed jobs, and the provider's events that name no tenant, share one lane. */
export interface Lane {
  readonly tenant: string
  readonly endpoint: string
}

export const laneOf = ({ tenant, endpoint }: Lane): string => tenant + endpoint

export interface FetchedJob extends Lane {
  readonly id: string
  readonly data: unknown
  /** Names this try: pg-boss accepts the result of no other. */
  readonly retryCount: number
  /** The turn of its lane in this fetch, and how many jobs of the lane it could return. */
  readonly place: number
  readonly share: number
}

/** What a process may fetch. */
export interface Room {
  readonly after: Lane
  readonly places: number
  /** How many jobs of one lane this fetch may return. */
  readonly perLane: number
  /** Lanes that may have no more jobs in this process. */
  readonly fullLanes: readonly string[]
  /** When the places are only for the first jobs of other tenants: those with jobs in this process. */
  readonly busyTenants?: readonly string[]
}

const tenant = (sql: Sql | Transaction): Fragment => sql`coalesce(data ->> 'tenantId', '')`
const endpoint = (sql: Sql | Transaction): Fragment => sql`coalesce(data ->> 'endpointId', '')`

/** Inserts wait while it is built. */
export async function createTurnsIndex(tx: Transaction): Promise<void> {
  await tx`
    create index if not exists job_turns on ${tx(JOB_SCHEMA)}.job_common (
      name, (${tenant(tx)}), (${endpoint(tx)}), start_after
    ) where state < 'active' and not blocked
  `
}

/**
 * Fetches due jobs of several lanes. The recursion goes from one lane with due jobs to the next, from
 * `after` on, until it is back at one that it has seen, or has enough of them. Locked jobs belong to another process. The new state is that of pg-boss's own fetch.
 * The name of the queue is in the text, for the planner and the logs.
 */
export async function fetchInTurn(sql: Sql, queue: SharedQueue, room: Room): Promise<FetchedJob[]> {
  const { after, places, busyTenants = [], fullLanes } = room
  const [ofTenant, ofEndpoint] = [tenant(sql), endpoint(sql)]
  const isDue = sql`${sql.unsafe(`name = '${queue}'`)} and state < 'active' and not blocked and start_after <= now()`
  const isNext = room.busyTenants
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
    lane as (
      select
        tenant, endpoint, row_number() over ()::int as place,
        greatest(1, least(${room.perLane}::int, ${places}::int / count(*) over ()))::int as share
      from (
        select tenant, endpoint from turn
        where not is_start and tenant <> all(${[...busyTenants]}::text[])
          and tenant || endpoint <> all(${[...fullLanes]}::text[])
        limit ${places}
      ) as turn
    ),
    chosen as materialized (
      select job.id, lane.* from lane cross join lateral (
        select id from ${sql(JOB_SCHEMA)}.job
        where ${isDue} and ${ofTenant} = lane.tenant and ${ofEndpoint} = lane.endpoint
        order by start_after limit (select lane.share) for update skip locked
      ) as job
    )
    update ${sql(JOB_SCHEMA)}.job as job set
      state = 'active', started_on = now(), heartbeat_on = now(),
      retry_count = case when started_on is null then retry_count else retry_count + 1 end
    from chosen where ${isDue} and job.id = chosen.id
    returning job.id, data, retry_count as "retryCount", tenant, endpoint, place, share
  `
}

/** Whether a fetch may have left due jobs to the next one: a lane has got its share. */
export const mayLeaveJobs = (jobs: readonly FetchedJob[]): boolean =>
  [...Map.groupBy(jobs, laneOf).values()].some((own) => own.length >= (own[0]?.share ?? 0))
