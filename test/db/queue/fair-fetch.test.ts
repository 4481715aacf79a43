// Tests the statement that fetches jobs in turns between tenants.
import { randomUUID } from 'node:crypto'
import { afterEach, expect, test } from '@jest/globals'
import { storeProviderEvent } from '../../../src/db/events/provider-events.ts'
import {
  OPERATIONS_QUEUE,
  PROVIDER_EVENTS_QUEUE,
  WEBHOOKS_QUEUE,
} from '../../../src/db/queue/jobs.ts'
import {
  fetchFairly,
  groupOf,
  mayLeaveJobs,
  type FetchLimits,
  type SharedQueue,
} from '../../../src/db/queue/fair-fetch.ts'
import type { ProviderEvent } from '../../../src/domain/events/provider-event.ts'
import { eventAbout } from '../../operations/follow-payment/provider-events.ts'
import { store } from '../../support/own-store.ts'

afterEach(async () => {
  await store.sql`delete from atomic_jobs.job`
})
interface Queued {
  readonly queue?: SharedQueue
  readonly count?: number
  readonly endpoint?: string
  /** Seconds from now. */
  readonly startsIn?: number
  readonly state?: 'created' | 'retry' | 'active' | 'completed'
}

/** Inserts jobs of a tenant; the jobs of one call start a second apart. */
async function queue(tenant: string, options: Queued = {}): Promise<void> {
  const { count = 1, endpoint, startsIn = -60, state = 'created' } = options
  const data = { tenantId: tenant, ...(endpoint !== undefined && { endpointId: endpoint }) }
  await store.sql`
    insert into atomic_jobs.job (name, data, state, start_after, started_on)
    select
      ${options.queue ?? OPERATIONS_QUEUE}, ${JSON.stringify(data)}::jsonb,
      ${state}::atomic_jobs.job_state, now() + (${startsIn}::int + i) * interval '1 second',
      case when ${state}::text = 'retry' then now() end
    from generate_series(0, ${count}::int - 1) as i
  `
}

const after = (lane: string) => ({ tenant: lane.slice(0, 1), endpoint: lane.slice(1) })

const limits = (fields: Partial<FetchLimits> = {}): FetchLimits => ({
  after: after(''),
  slots: 4,
  perGroup: 100,
  fullGroups: [],
  ...fields,
})

/** The groups of the fetched jobs, sorted. */
async function fetchLanes(fields?: Partial<FetchLimits>, name: SharedQueue = OPERATIONS_QUEUE) {
  const jobs = await fetchFairly(store.sql, name, limits(fields))
  return jobs.map(groupOf).toSorted()
}

test('shares the slots between the tenants, however long their backlogs are', async () => {
  await queue('a', { count: 500, startsIn: -600 })
  await queue('b')
  await queue('c', { count: 2 })

  expect(await fetchLanes({ slots: 6 })).toEqual(['a', 'a', 'b', 'c', 'c'])
  expect(await fetchLanes({ slots: 6 })).toEqual(['a', 'a', 'a', 'a', 'a', 'a'])
})

test('starts after the last turn, and wraps around', async () => {
  for (const tenant of ['a', 'b', 'c']) await queue(tenant, { count: 5 })

  expect(await fetchLanes({ after: after('a'), slots: 1 })).toEqual(['b'])
  expect(await fetchLanes({ after: after('c'), slots: 1 })).toEqual(['a'])
  expect(await fetchLanes({ after: after('b'), slots: 2 })).toEqual(['a', 'c'])
  expect(await fetchLanes({ after: after('b'), slots: 3 })).toEqual(['a', 'b', 'c'])
})

test('fetches only first jobs of other tenants when only reserved slots are free', async () => {
  await queue('a', { count: 10, startsIn: -600 })
  const reserved = { slots: 2, perGroup: 1, busyTenants: ['a'] }
  expect(await fetchLanes(reserved)).toEqual([])

  await queue('b', { count: 10 })
  expect(await fetchLanes(reserved)).toEqual(['b'])
  expect(await fetchLanes({ ...reserved, busyTenants: ['a', 'b'] })).toEqual([])
})

test('lets endpoints take turns, and skips those without a slot', async () => {
  const webhooks = { queue: WEBHOOKS_QUEUE } as const
  await queue('a', { ...webhooks, endpoint: '/1', count: 50, startsIn: -600 })
  await queue('a', { ...webhooks, endpoint: '/2', count: 2 })
  await queue('a', { ...webhooks, count: 2 })

  const oneEach = { slots: 8, perGroup: 1 }
  expect(await fetchLanes(oneEach, WEBHOOKS_QUEUE)).toEqual(['a', 'a/1', 'a/2'])
  const next = { after: after('a/1'), fullGroups: ['a'] }
  expect(await fetchLanes({ ...oneEach, ...next, slots: 1 }, WEBHOOKS_QUEUE)).toEqual(['a/2'])
  expect(await fetchLanes({ ...oneEach, ...next }, WEBHOOKS_QUEUE)).toEqual(['a/1'])
})

test('does not return a job that another process fetches at the same moment', async () => {
  await queue('a', { count: 3 })
  await queue('b')

  const fetches = Array.from({ length: 4 }, () =>
    fetchFairly(store.sql, OPERATIONS_QUEUE, limits()),
  )
  const jobs = (await Promise.all(fetches)).flat()

  expect(jobs).toHaveLength(4)
  expect(new Set(jobs.map(({ id }) => id)).size).toBe(4)
})

test('fetches retries, but no job that starts later or that is in progress or has ended', async () => {
  await queue('a', { startsIn: 60 })
  await queue('b', { state: 'active' })
  await queue('c', { state: 'completed' })
  await queue('d', { state: 'retry' })
  await queue('e', { queue: WEBHOOKS_QUEUE })

  const jobs = await fetchFairly(store.sql, OPERATIONS_QUEUE, limits())

  expect(jobs).toMatchObject([{ tenant: 'd', retryCount: 1, data: { tenantId: 'd' } }])
})

test('shares the slots between the tenants that events name; the others share one turn', async () => {
  const payment = { tenantId: randomUUID(), id: randomUUID(), providerPaymentId: 'pi_1' }
  const store10 = async (fields: Partial<ProviderEvent>) => {
    for (let count = 0; count < 10; count += 1)
      await storeProviderEvent(store.sql, eventAbout(payment, fields))
  }
  await store10({ subject: null })
  await store10({})

  const { tenantId } = payment
  expect(await fetchLanes({}, PROVIDER_EVENTS_QUEUE)).toEqual(['', '', tenantId, tenantId])
})

test('fetches a malformed job, which has no tenant', async () => {
  await queue('a')
  await store.sql`
    insert into atomic_jobs.job (id, name, data) values (${randomUUID()}, ${OPERATIONS_QUEUE}, '{}')
  `

  expect(await fetchLanes()).toEqual(['', 'a'])
  expect(await fetchLanes()).toEqual([])
})

test('knows when a fetch has left no jobs', async () => {
  const fetchAll = async (fields: Partial<FetchLimits> = {}) => {
    const jobs = await fetchFairly(store.sql, OPERATIONS_QUEUE, limits(fields))
    return { groups: jobs.map(groupOf).toSorted(), more: mayLeaveJobs(jobs) }
  }
  expect(await fetchAll()).toEqual({ groups: [], more: false })

  await queue('a')
  await queue('b')
  expect(await fetchAll()).toEqual({ groups: ['a', 'b'], more: false })

  await queue('a', { count: 5 })
  expect(await fetchAll()).toEqual({ groups: ['a', 'a', 'a', 'a'], more: true })
  expect(await fetchAll()).toEqual({ groups: ['a'], more: false })

  // Three tenants share six slots, and leave those that the third one does not need.
  await queue('a', { count: 3 })
  await queue('b')
  await queue('c')
  expect(await fetchAll({ slots: 6 })).toEqual({ groups: ['a', 'a', 'b', 'c'], more: true })
  expect(await fetchAll({ slots: 6 })).toEqual({ groups: ['a'], more: false })

  await queue('a', { count: 2 })
  expect(await fetchAll({ perGroup: 1 })).toEqual({ groups: ['a'], more: true })
})
