// Tests the workers on queues that all tenants share: when they fetch, how many jobs they have in
// progress, and what becomes of the jobs when they stop.
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { PgBoss, type JobResult } from 'pg-boss'
import { SERVICE_ROLE } from '../../src/config.ts'
import { createJobWaker } from '../../src/db/connection/notifications.ts'
import { inService } from '../../src/db/connection/transaction.ts'
import { openJobStore, type JobStore } from '../../src/db/queue/job-store.ts'
import {
  addJobs,
  JOB_SCHEMA,
  OPERATIONS_DEAD_LETTERS,
  OPERATIONS_QUEUE,
} from '../../src/db/queue/jobs.ts'
import { groupOf, type FetchedJob } from '../../src/db/queue/fair-fetch.ts'
import { startSharedWorkers, type SharedQueueWorker } from '../../workers/shared-queues.ts'
import type { SharedJobHandler } from '../../workers/jobs.ts'
import { database, store } from '../support/own-store.ts'
import { until } from '../support/until.ts'

/** Longer than any test waits: a worker that fetches a job later was woken. */
const NEVER_POLL_SECONDS = 600

let jobs: JobStore
let boss: PgBoss
let workers: readonly SharedQueueWorker[] = []
/** The jobs in progress, and what ends each of them. */
const running = new Map<FetchedJob, (result: Omit<JobResult, 'id'>) => void>()

beforeAll(() => {
  const options = { applicationName: 'test jobs', timeoutMs: 5_000, role: SERVICE_ROLE }
  jobs = openJobStore({ url: database.url, ...options })
  boss = new PgBoss({ db: jobs, schema: JOB_SCHEMA, migrate: false })
})
afterEach(async () => {
  await Promise.all(workers.map((worker) => worker.stop(0)))
  running.clear()
  await store.sql`delete from atomic_jobs.job`
})
afterAll(() => jobs.close())

function start(fields: Partial<SharedJobHandler> = {}): void {
  const log = {
    warn: ({ err }: { err: unknown }) => {
      throw err
    },
  }
  const handle = async (job: FetchedJob): Promise<JobResult<object | undefined>> => {
    const { promise, resolve } = Promise.withResolvers<Omit<JobResult, 'id'>>()
    running.set(job, resolve)
    const result = await promise
    running.delete(job)
    return { id: job.id, ...result }
  }
  const handler = {
    queue: OPERATIONS_QUEUE,
    concurrency: 8,
    pollSeconds: NEVER_POLL_SECONDS,
    isNotified: false,
    perReceiver: Infinity,
    handle,
    ...fields,
  } as const
  workers = startSharedWorkers({ boss, sql: jobs.sql, store, log: log as never }, [handler])
}

async function add(data: object, count = 1, queue: string = OPERATIONS_QUEUE): Promise<void> {
  await inService(store.sql, (tx) =>
    addJobs(
      tx,
      queue,
      Array.from({ length: count }, () => ({ data })),
    ),
  )
}

const inProgress = () => [...running.keys()].map(groupOf).toSorted()

async function statesOf(queue: string): Promise<string[]> {
  const rows = await store.sql<{ state: string }[]>`
    select state::text from atomic_jobs.job where name = ${queue}
  `
  return rows.map(({ state }) => state).toSorted()
}

test('a notification wakes a worker that polls rarely', async () => {
  start({ isNotified: true })
  const wake = createJobWaker(store.sql, () => {})
  await add({ tenantId: 'a' })

  // Those before the worker listens are lost.
  await until(() => {
    wake()
    return running.size === 1
  })
})

test('a worker without notifications polls', async () => {
  start({ pollSeconds: 0.05 })
  await add({ tenantId: 'a' })

  await until(() => running.size === 1)
})

test('the end of a job gives its slot to the next one at once', async () => {
  await add({ tenantId: 'a' }, 9)
  start()
  await until(() => running.size === 8)

  for (const end of running.values()) end({ status: 'completed' })

  await until(() => inProgress().length === 1)
  await until(async () => (await statesOf(OPERATIONS_QUEUE)).join().startsWith('active,completed'))
})

test('a job is a dead letter at once when its handler says so', async () => {
  await add({ tenantId: 'a' })
  start()
  await until(() => running.size === 1)
  for (const end of running.values()) end({ status: 'deadletter', output: { reason: 'why' } })

  await until(async () => (await statesOf(OPERATIONS_DEAD_LETTERS)).length === 1)
  expect(await statesOf(OPERATIONS_QUEUE)).toEqual(['failed'])
})

test('a worker that stops gives back what has not ended in time', async () => {
  await add({ tenantId: 'a' }, 2)
  start()
  await until(() => running.size === 2)
  const [first] = running.values()
  first?.({ status: 'completed' })

  await Promise.all(workers.map((worker) => worker.stop(100)))

  expect(await statesOf(OPERATIONS_QUEUE)).toEqual(['completed', 'retry'])
})
