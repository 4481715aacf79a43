// Tests the connections of pg-boss: its own statements, the data of a job in both directions, and
// scripts of several statements.
import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { SERVICE_ROLE } from '../../../src/config.ts'
import { PgBoss } from 'pg-boss'
import { openJobStore, type JobStore } from '../../../src/db/queue/job-store.ts'
import {
  JOB_SCHEMA,
  OPERATIONS_DEAD_LETTERS,
  OPERATIONS_QUEUE,
} from '../../../src/db/queue/jobs.ts'
import { database, store } from '../../support/own-store.ts'

let jobs: JobStore
let boss: PgBoss

beforeEach(async () => {
  await store.sql`delete from atomic_jobs.job`
  jobs = openJobStore({
    url: database.url,
    applicationName: 'atomic-payments test jobs',
    timeoutMs: 5_000,
    role: SERVICE_ROLE,
  })
  boss = new PgBoss({
    db: jobs,
    schema: JOB_SCHEMA,
    migrate: false,
    supervise: false,
    schedule: false,
  })
  await boss.start()
})
afterEach(async () => {
  await boss.stop({ graceful: false })
  await jobs.close()
})

const OPTIONS = { batchSize: 3, includeMetadata: true, perJobResults: true } as const

async function readJobs(queue: string) {
  return await store.sql<{ state: string; output: unknown; data: unknown }[]>`
    select state::text, output, data from atomic_jobs.job where name = ${queue} order by created_on, id
  `
}

test('returns the data and the output of a job unchanged', async () => {
  const data = { text: 'a "quoted" name', list: [1, null, true], nested: { of: ['é'] } }
  await boss.send(OPERATIONS_QUEUE, data, { retryLimit: 0 })
  const [job] = await boss.fetch(OPERATIONS_QUEUE, { includeMetadata: true })
  expect(job?.data).toEqual(data)
  expect(job?.createdOn).toBeInstanceOf(Date)

  await boss.fail(OPERATIONS_QUEUE, job?.id ?? '', { reason: ['it', { did: 'not' }] })

  const [failed] = await readJobs(OPERATIONS_QUEUE)
  expect(failed).toMatchObject({ state: 'failed', output: { reason: ['it', { did: 'not' }] } })
})

test('ends each job of a batch with its own result', async () => {
  const ends = ['completed', 'failed', 'deadletter'] as const
  for (const end of ends) await boss.send(OPERATIONS_QUEUE, { end }, { retryLimit: 0 })
  const { promise: settled, resolve } = Promise.withResolvers<void>()
  await boss.work<{ end: (typeof ends)[number] }>(OPERATIONS_QUEUE, OPTIONS, async (batch) => {
    resolve()
    return batch.map(({ id, data }) => ({ id, status: data.end, output: { said: data.end } }))
  })
  await settled
  await boss.stop()

  const states = (await readJobs(OPERATIONS_QUEUE)).map(({ state, output }) => ({ state, output }))
  expect(states).toEqual([
    { state: 'completed', output: { said: 'completed' } },
    { state: 'failed', output: { said: 'failed' } },
    { state: 'failed', output: { said: 'deadletter' } },
  ])
  const dead = await readJobs(OPERATIONS_DEAD_LETTERS)
  expect(dead.map(({ data }) => data)).toEqual(
    expect.arrayContaining([{ end: 'failed' }, { end: 'deadletter' }]),
  )
})

test('reports the statements that the store could not serve', async () => {
  const kinds: string[] = []
  const observed = openJobStore({
    url: database.url,
    applicationName: 'atomic-payments test jobs',
    timeoutMs: 5_000,
    role: SERVICE_ROLE,
    failed: (kind) => kinds.push(kind),
  })

  // Statements that follow each other have the same connection.
  await observed.executeSql(`select set_config('statement_timeout', '20', false)`)
  await expect(observed.executeSql('select pg_sleep(60)')).rejects.toThrow('statement timeout')

  expect(kinds).toEqual(['timeout'])
  await observed.close()
})

test('treats a text with values as one statement', async () => {
  const text = "select $1::text as value, 'one; two' as text"

  expect(await jobs.executeSql(text, ['x'])).toEqual({ rows: [{ value: 'x', text: 'one; two' }] })
})

describe('a script', () => {
  test('of several statements returns the rows of all of them', async () => {
    const text = 'begin; select 1 as one; select 2 as two; commit'

    expect(await jobs.executeSql(text)).toEqual({ rows: [{ one: 1 }, { two: 2 }] })
    expect(await jobs.executeSql(text, [])).toEqual({ rows: [{ one: 1 }, { two: 2 }] })
  })

  test('reuses the connection of the previous script, unless it was lost', async () => {
    const pidOf = async () => {
      const { rows } = await jobs.executeSql('select 1 as one; select pg_backend_pid() as pid')
      return (rows as { pid?: number }[])[1]?.pid ?? 0
    }
    const first = await pidOf()
    expect(await pidOf()).toBe(first)

    await store.sql.begin(async (tx) => {
      await tx`set local role none`
      await tx`select pg_terminate_backend(${first}::int)`
    })

    // Only the script that starts before the loss is noticed fails.
    expect(await pidOf().catch(pidOf)).not.toBe(first)
  })

  test('that fails in its transaction writes nothing and leaves no connection in it', async () => {
    const name = `q_${randomUUID()}`
    const failing = () =>
      jobs.executeSql(`
        begin;
        update atomic_jobs.queue set retry_limit = 7 where name = '${OPERATIONS_QUEUE}';
        select 1 / 0;
        commit
      `)
    for (let round = 0; round < 6; round += 1) {
      await expect(failing()).rejects.toMatchObject({ code: '22012' })
    }

    const fine = () => jobs.executeSql('select $1::text as name', [name])
    expect(await Promise.all(Array.from({ length: 6 }, fine))).toEqual(
      Array.from({ length: 6 }, () => ({ rows: [{ name }] })),
    )
    const [queue] = await store.sql`
      select retry_limit from atomic_jobs.queue where name = ${OPERATIONS_QUEUE}
    `
    expect(queue?.['retry_limit']).not.toBe(7)
  })

  test('that loses its connection does not affect later statements', async () => {
    const losing = () =>
      jobs.executeSql('set role none; select pg_terminate_backend(pg_backend_pid()); select 1')
    const fine = () => jobs.executeSql('select $1::text as name', ['any'])

    for (let round = 0; round < 6; round += 1) {
      await expect(losing()).rejects.toMatchObject({
        code: expect.stringMatching(/57P01|CONNECTION_CLOSED/) as unknown,
      })
      const { rows } = await fine()
      expect(rows).toEqual([{ name: 'any' }])
    }
  })
})

test('uses the service role', async () => {
  const { rows } = await jobs.executeSql('select current_user::text as role')

  expect(rows).toEqual([{ role: 'atomic_payments_service' }])
})

test('no statement is compiled: short ones would take hundreds of milliseconds', async () => {
  const { rows } = await jobs.executeSql('show jit')

  expect([...rows, ...(await store.sql`show jit`)]).toEqual([{ jit: 'off' }, { jit: 'off' }])
})
