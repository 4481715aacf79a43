// Tests the daily reconciliation: requested once a day, and carried out by a worker.
import { beforeEach, describe, expect, test } from '@jest/globals'
import type { JobWithMetadata } from 'pg-boss'
import { readConfig } from '../../src/config.ts'
import type { Sql } from '../../src/db/connection/client.ts'
import { inTransaction } from '../../src/db/connection/transaction.ts'
import { beginRunUnlessCompleted } from '../../src/reconciliation/carry-out-run.ts'
import {
  findRun,
  listRuns,
  requestReconciliation,
  type RunRequest,
} from '../../src/reconciliation/runs.ts'
import {
  requestDailyReconciliation,
  workOnReconciliation,
} from '../../workers/reconciliation-worker.ts'
import { emptyTables } from '../support/empty-tables.ts'
import { stripeOf, withProvider } from '../support/engine-doubles.ts'
import { untilLaterMillisecond } from '../support/later-millisecond.ts'
import { t } from '../support/own-engine.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'

beforeEach(() => emptyTables(t.engine.store.sql))

const wanted: RunRequest = {
  provider: 'stripe',
  from: new Date('2026-03-01T00:00:00Z'),
  to: new Date('2026-03-02T00:00:00Z'),
  requestedBy: 'ann',
}

const request = (sql: Sql, run: RunRequest) =>
  inTransaction(sql, (tx) => requestReconciliation(tx, run))

async function jobsOf() {
  const rows = await t.engine.store.sql`
    select data from atomic_jobs.job where name = 'reconciliations' order by created_on
  `
  return rows.map((row) => row['data'] as { runId: string })
}

/** The job of a run, as pg-boss passes it to a worker. */
async function work(data: unknown, stopping?: AbortSignal, engine = t.engine) {
  const parts = {
    engine,
    settings: readConfig({}),
    ...(stopping === undefined ? {} : { stopping }),
  }
  const job = { id: 'job', data, signal: new AbortController().signal }
  return await workOnReconciliation(parts, job as unknown as JobWithMetadata<unknown>)
}

describe('a request', () => {
  test('creates a run with its job; a second request for the same window returns that run', async () => {
    const { sql } = t.engine.store

    const first = await request(sql, wanted)
    const second = await request(sql, { ...wanted, requestedBy: 'bob' })

    expect(first).toMatchObject({ ...wanted, status: 'pending', finishedAt: null, counts: {} })
    expect(second).toEqual(first)
    expect(await jobsOf()).toEqual([{ runId: first.id }])
  })

  test('for another window, or after the run has ended, creates a new run', async () => {
    const { sql } = t.engine.store
    await untilLaterMillisecond()
    const first = await request(sql, wanted)
    await untilLaterMillisecond()
    const other = await request(sql, { ...wanted, from: new Date('2026-02-28') })
    await work({ runId: first.id })

    const next = await request(sql, wanted)

    expect(new Set([first.id, other.id, next.id]).size).toBe(3)
    const runs = await listRuns(sql, { limit: 2 })
    expect(runs?.items.map(({ id }) => id)).toEqual([next.id, other.id])
    expect(runs?.hasMore).toBe(true)
  })

  test('creates a new run if the job of a pending or running one is lost', async () => {
    const { sql } = t.engine.store
    const first = await request(sql, wanted)
    await beginRunUnlessCompleted(sql, first.id)
    const whileItLives = await request(sql, wanted)
    await sql`delete from atomic_jobs.job where name = 'reconciliations'`

    const next = await request(sql, wanted)

    expect(whileItLives.id).toBe(first.id)
    expect(next.id).not.toBe(first.id)
    expect(await jobsOf()).toEqual([{ runId: next.id }])
  })
})

describe('a worker that is killed during a comparison', () => {
  test('leaves its run to another after its heartbeats end', async () => {
    const service = await startService()
    try {
      const { sql } = service.store
      const slow = { match: { method: 'GET' }, fault: 'hang_before', times: 1_000 }
      await service.control('POST', 'faults', slow)
      const { id } = await request(sql, wanted)
      const job = async () => {
        const [row] = await sql<{ state: string; heartbeat_seconds: number }[]>`
          select state, heartbeat_seconds from atomic_jobs.job where name = 'reconciliations'
        `
        return row
      }
      await until(async () => (await findRun(sql, id))?.status === 'running')
      service.worker.kill('SIGKILL')
      await service.worker.exited
      const killed = await job()
      await service.control('DELETE', 'faults')
      // As if the last heartbeat were that long ago: the test does not wait for it.
      await sql`
        update atomic_jobs.job set heartbeat_on = heartbeat_on - heartbeat_seconds * interval '1 second'
        where name = 'reconciliations'
      `
      await service.startWorker()

      await until(async () => (await job())?.state === 'retry')
      // Skips the delay before a retry, which is not under test.
      await sql`update atomic_jobs.job set start_after = now() where name = 'reconciliations'`
      await until(async () => (await findRun(sql, id))?.status === 'completed')

      expect(killed).toEqual({ state: 'active', heartbeat_seconds: 20 })
      expect(await findRun(sql, id)).toMatchObject({ status: 'completed', lastError: null })
    } finally {
      await service.stop()
    }
  }, 180_000)
})

describe('the job', () => {
  test('carries out its run', async () => {
    const { id } = await request(t.engine.store.sql, wanted)

    const result = await work({ runId: id })

    expect(result).toMatchObject({ status: 'completed' })
    expect(await findRun(t.engine.store.sql, id)).toMatchObject({ status: 'completed' })
    expect(await work({ runId: id })).toMatchObject({ status: 'completed' })
  })

  test('is retried when the provider is unavailable', async () => {
    const { id } = await request(t.engine.store.sql, wanted)
    // One fault for each try of a page.
    await t.provider.addFault({ fault: 'reset_before', times: 4 })

    const results = [await work({ runId: id }), await work({ runId: id })]

    expect(results.map(({ status }) => status)).toEqual(['failed', 'completed'])
    expect(await findRun(t.engine.store.sql, id)).toMatchObject({
      status: 'completed',
      lastError: null,
    })
  })

  test('ends early when its worker shuts down, and is left to another worker', async () => {
    const { id } = await request(t.engine.store.sql, wanted)
    await t.accept()
    const stopping = new AbortController()
    const engine = withProvider(t.engine, {
      ...stripeOf(t.engine),
      async *listPayments() {
        stopping.abort(new Error('the worker stops'))
        yield []
      },
    })

    const result = await work({ runId: id }, stopping.signal, engine)

    expect(result).toMatchObject({ status: 'failed' })
    expect(await findRun(t.engine.store.sql, id)).toMatchObject({
      status: 'failed',
      lastError: 'the worker stops',
    })
  })

  test('without a run id becomes a dead letter', async () => {
    expect(await work({ runId: 'nonsense' })).toMatchObject({ status: 'deadletter' })
  })
})

describe('the schedule', () => {
  test('requests the previous day in UTC once', async () => {
    const clock = { ...t.engine.clock, now: () => new Date('2026-03-02T03:00:00Z') }

    const asked = [
      await requestDailyReconciliation({ ...t.engine, clock }),
      await requestDailyReconciliation({ ...t.engine, clock }),
    ]

    expect(asked).toEqual([{ requested: 1 }, { requested: 0 }])
    const [job] = await jobsOf()
    const run = await findRun(t.engine.store.sql, job?.runId ?? '')
    expect(run).toMatchObject({ from: wanted.from, to: wanted.to, requestedBy: 'schedule' })
  })

  test('requests nothing when the day was already compared', async () => {
    const clock = { ...t.engine.clock, now: () => new Date('2026-03-02T23:59:59Z') }
    await requestDailyReconciliation({ ...t.engine, clock })
    for (const data of await jobsOf()) await work(data)

    expect(await requestDailyReconciliation({ ...t.engine, clock })).toEqual({ requested: 0 })
  })
})
