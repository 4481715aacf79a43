// Tests that the jobs have a schema of our own: another program with pg-boss in the database is left
// alone.
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { PgBoss } from 'pg-boss'
import type { Store } from '../../src/db/connection/client.ts'
import { migrateDatabase } from '../../src/migrations/migrate.ts'
import { openJobStore } from '../../src/db/queue/job-store.ts'
import { postPayment } from '../support/client.ts'
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts'
import { startService } from '../support/service.ts'
import { openTestStore } from '../db/reservations.ts'

let database: TestDatabase
let url: string
let store: Store

beforeEach(async () => {
  database = await createEmptyDatabase()
  url = database.url
  store = openTestStore(url, 2)
})
afterEach(async () => {
  await store.close()
  await database.drop()
})

/** Does something with pg-boss in its default schema, as another program does. */
async function withOtherBoss(work: (boss: PgBoss) => Promise<void>): Promise<void> {
  const jobs = openJobStore({ url, applicationName: 'other program', timeoutMs: 20_000 })
  const boss = new PgBoss({ db: jobs, supervise: false, schedule: false })
  try {
    await boss.start()
    await work(boss)
  } finally {
    await boss.stop({ graceful: false })
    await jobs.close()
  }
}

/** All rows of the other program. */
async function otherRows(): Promise<object> {
  const { sql } = store
  const [queues, jobs] = await Promise.all([
    sql`select to_jsonb(queue) - 'monitor_on' as row from pgboss.queue order by name`,
    sql`select to_jsonb(job) as row from pgboss.job order by id`,
  ])
  return { queues: [...queues], jobs: [...jobs] }
}

async function pay(): Promise<void> {
  const service = await startService({}, url)
  try {
    const tenant = await service.createTenant()
    expect(await postPayment(service.apiUrl, tenant)).toMatchObject({ status: 201 })
  } finally {
    await service.stop()
  }
}

test.each(['before the first migration', 'after it'])(
  'another program with pg-boss %s keeps its queue and its job',
  async (when) => {
    const begin = () =>
      withOtherBoss(async (boss) => {
        await boss.createQueue('operations', { retryLimit: 3 })
        await boss.send('operations', { of: 'the other program' })
      })
    if (when !== 'after it') await begin()
    await migrateDatabase(url)
    if (when === 'after it') await begin()
    const before = await otherRows()

    if (when === 'after it') await pay()
    await migrateDatabase(url)

    expect(await otherRows()).toEqual(before)
  },
)
