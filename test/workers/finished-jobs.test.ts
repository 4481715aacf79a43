// Tests the deletion of finished jobs, which are kept for an hour.
import { expect, test } from '@jest/globals'
import { service } from '../support/shared-service.ts'
import { until } from '../support/until.ts'

async function insertFinished(minutesAgo: number): Promise<string> {
  const [row] = await service.store.sql<{ id: string }[]>`
    insert into atomic_jobs.job (name, state, completed_on, keep_until, deletion_seconds, policy)
    select
      name, 'completed', now() - ${minutesAgo} * interval '1 minute', now() + interval '1 day',
      deletion_seconds, policy
    from atomic_jobs.queue where name = 'operations'
    returning id
  `
  return row?.id ?? ''
}

async function isThere(id: string): Promise<boolean> {
  const rows = await service.store.sql`select from atomic_jobs.job where id = ${id}`
  return rows.length > 0
}

test('a worker deletes jobs an hour after they finished, and checks every ten minutes', async () => {
  const [young, old] = [await insertFinished(55), await insertFinished(61)]

  // Pretends that the worker checked eleven minutes ago.
  await service.store.sql`
    update atomic_jobs.queue set maintain_on = now() - interval '11 minutes' where name = 'operations'
  `
  await until(async () => !(await isThere(old)))

  expect(await isThere(young)).toBe(true)
})
