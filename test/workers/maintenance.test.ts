// Tests that the maintenance tasks run by their own clock: no test calls a task, moves a time in the
// database, or uses the schedule of pg-boss.
import { expect, test } from '@jest/globals'
import { readConfig, type Config } from '../../src/config.ts'
import { startTicking } from '../../workers/maintenance.ts'
import { claimIfUnowned } from '../support/claim.ts'
import { until } from '../support/until.ts'
import { t } from '../support/own-engine.ts'

const LEASE_MS = 1_500

/** Real settings, with intervals that fit the lease. */
function settingsOf(intervals: Partial<Config>): Config {
  const { databaseUrl } = t
  return {
    ...readConfig({ DATABASE_URL: databaseUrl, STRIPE_SECRET_KEY: 'sk_test' }),
    ...intervals,
  }
}

test('the sweeper resumes an operation after its lease has expired by the clock, and not before', async () => {
  const ref = await t.accept()
  const { sql } = t.engine.store
  await claimIfUnowned(sql, ref, LEASE_MS)
  const { lease_expires_at: expiresAt } = await t.readKey(ref)
  const resumed: number[] = []
  const observe = {
    ...t.engine.observe,
    ranTask: (task: string, _seconds: number, did?: Readonly<Record<string, number>>) => {
      if (task === 'sweep') resumed.push(did?.['resumed'] ?? 0)
    },
  }
  const ticker = startTicking({
    engine: { ...t.engine, observe },
    settings: settingsOf({ SWEEP_INTERVAL_MS: 50, CHECK_INTERVAL_MS: 60_000 }),
  })

  await until(async () => (await t.readKey(ref))['status'] === 'pending')
  await ticker.stop()

  // The first sweeps find the lease, and leave it.
  expect(resumed[0]).toBe(0)
  expect(resumed.filter((count) => count > 0)).toEqual([1])
  const [, second, ...others] = await sql<{ isAfter: boolean }[]>`
    select created_on > ${String(expiresAt)}::timestamptz as "isAfter" from atomic_jobs.job
    where name = 'operations' and data ->> 'operationId' = ${ref.id} order by created_on
  `
  expect([second, ...others]).toEqual([{ isAfter: true }])
})
