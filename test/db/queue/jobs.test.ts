// Compares the jobs that our statements insert with those that pg-boss inserts. An upgrade of
// pg-boss that changes the table, its defaults or its notification channel fails here.
import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { PgBoss } from 'pg-boss'
import { createJobWaker } from '../../../src/db/connection/notifications.ts'
import {
  JOB_SCHEMA,
  OPERATIONS_QUEUE,
  WEBHOOKS_QUEUE,
  type OperationJob,
  type WebhookJob,
} from '../../../src/db/queue/jobs.ts'
import { recordAttemptIfDue } from '../../../src/webhooks/deliver-webhook.ts'
import { insertEndpoint } from '../../../src/db/webhooks/webhook-endpoints.ts'
import { database, store } from '../../support/own-store.ts'
import { countRows, makeTenant, pendingOperation, reservationOf, reserve } from '../reservations.ts'

let boss: PgBoss

beforeEach(async () => {
  await store.sql`delete from atomic_jobs.job`
  boss = new PgBoss({
    connectionString: database.url,
    schema: JOB_SCHEMA,
    max: 4,
    migrate: false,
    supervise: false,
    schedule: false,
    useListenNotify: true,
  })
  // The database may be dropped before the server has noticed that a connection was closed.
  boss.on('error', () => {})
  await boss.start()
})
afterEach(() => boss.stop({ graceful: false }))

interface JobRow {
  /** Every column but the id and the instants. */
  readonly settings: Record<string, unknown>
  /** From creation, in seconds. */
  readonly starts_after: number
  readonly kept_for: number
  /** The age of the job, in seconds. */
  readonly age: number
}

async function readJob(operationId: string): Promise<JobRow | undefined> {
  const [row] = await store.sql<JobRow[]>`
    select
      to_jsonb(job) - 'id' - 'created_on' - 'start_after' - 'keep_until' as settings,
      extract(epoch from start_after - created_on)::float8 as starts_after,
      extract(epoch from keep_until - created_on)::float8 as kept_for,
      extract(epoch from now() - created_on)::float8 as age
    from atomic_jobs.job as job
    where data ->> 'operationId' = ${operationId}
  `
  return row
}

/** Inserts the same job by pg-boss and by the service, and returns both rows. */
async function writeBoth(): Promise<{ ours: JobRow | undefined; theirs: JobRow | undefined }> {
  const { tenantId, id } = await pendingOperation(store)
  const ours = await readJob(id)
  await store.sql`delete from atomic_jobs.job`
  const job: OperationJob = { tenantId, operationId: id }
  await boss.send(OPERATIONS_QUEUE, job)
  return { ours, theirs: await readJob(id) }
}

describe('the job of a reserved key', () => {
  test('is the row that pg-boss inserts, column by column', async () => {
    const { ours, theirs } = await writeBoth()

    expect(ours?.settings).toEqual(theirs?.settings)
    expect(ours?.settings).toMatchObject({ name: OPERATIONS_QUEUE, state: 'created' })
    expect(ours?.starts_after).toBe(theirs?.starts_after)
    expect(ours?.kept_for).toBe(theirs?.kept_for)
    expect(ours?.age).toBeLessThan(60)
  })

  test('has the settings of its queue, as the job of pg-boss does', async () => {
    await boss.updateQueue(OPERATIONS_QUEUE, {
      retryLimit: 17,
      retryDelay: 3,
      retryBackoff: false,
      expireInSeconds: 123,
      retentionSeconds: 4_567,
      deleteAfterSeconds: 89,
    })

    const { ours, theirs } = await writeBoth()

    expect(ours?.settings).toEqual(theirs?.settings)
    expect(ours?.settings).toMatchObject({ retry_limit: 17, expire_seconds: 123 })
    expect(ours?.kept_for).toBe(4_567)
  })

  test('is not inserted when its queue is missing, and neither is the key', async () => {
    const tenantId = await makeTenant(store)
    await boss.deleteQueue(OPERATIONS_QUEUE)

    const reserved = reserve(store.sql, reservationOf(tenantId))

    await expect(reserved).rejects.toMatchObject({ code: '23502' })
    expect(await countRows(store.sql, 'idempotency_keys', tenantId)).toBe(0)
    expect(await countRows(store.sql, 'payments', tenantId)).toBe(0)
    expect(await countRows(store.sql, 'phase_runs', tenantId)).toBe(0)
    await boss.createQueue(OPERATIONS_QUEUE)
  })
})

describe('the job of a webhook delivery', () => {
  interface QueuedJob extends JobRow {
    readonly data: WebhookJob
  }

  async function readJobs(): Promise<QueuedJob[]> {
    return await store.sql<QueuedJob[]>`
      select
        data,
        to_jsonb(job) - 'id' - 'data' - 'created_on' - 'start_after' - 'keep_until' as settings,
        extract(epoch from start_after - created_on)::float8 as starts_after,
        extract(epoch from keep_until - start_after)::float8 as kept_for
      from atomic_jobs.job as job where name = ${WEBHOOKS_QUEUE} order by start_after
    `
  }

  test('is the row that pg-boss inserts, also when it starts later', async () => {
    const tenantId = await makeTenant(store)
    const endpoint = { tenantId, id: randomUUID(), url: 'https://merchant.example/', secret: 's' }
    await store.sql.begin((tx) =>
      insertEndpoint(tx, { ...endpoint, description: null, eventTypes: ['*'] }),
    )
    await reserve(store.sql, reservationOf(tenantId))
    const [first] = await readJobs()
    if (first === undefined) throw new Error('the job is missing')
    await recordAttemptIfDue(store.sql, first.data, {
      id: randomUUID(),
      startedAt: new Date(),
      latencyMs: 1,
      reply: { httpStatus: 500 },
      verdict: 'failed',
      retryInSeconds: 300,
      failuresBefore: 0,
      disableAfterSeconds: 86_400,
    })
    const ours = await readJobs()
    await store.sql`delete from atomic_jobs.job`
    await boss.send(WEBHOOKS_QUEUE, first.data)
    await boss.send(WEBHOOKS_QUEUE, { ...first.data, attempt: 2 }, { startAfter: 300 })
    const theirs = await readJobs()

    expect(ours).toHaveLength(2)
    expect(ours).toEqual(theirs)
  })
})

describe('notifying the workers', () => {
  /** The channel that the running pg-boss listens on. */
  async function channelOfBoss(): Promise<string> {
    const [row] = await store.sql<{ channel: string }[]>`
      select substring(query from '"?(pgboss_[0-9a-f]+)"?') as channel from pg_stat_activity
      where datname = current_database() and query ilike 'listen%'
    `
    if (row === undefined) throw new Error('pg-boss does not listen')
    return row.channel
  }

  test('sends the same notification as pg-boss, on the channel that it listens on', async () => {
    await boss.updateQueue(OPERATIONS_QUEUE, { notify: true })
    const received: string[] = []
    let arrived = () => {}
    const channel = await channelOfBoss()
    const hear = (payload: string) => {
      received.push(payload)
      arrived()
    }
    await new Promise((listening) => store.listen(channel, hear, listening))
    const next = () => new Promise<void>((resolve) => (arrived = resolve))

    const theirs = next()
    await boss.send(OPERATIONS_QUEUE, {})
    await theirs
    const ours = next()
    createJobWaker(store.sql, (error) => {
      throw error
    })()
    await ours

    expect(received).toEqual([OPERATIONS_QUEUE, OPERATIONS_QUEUE])
  })
})
