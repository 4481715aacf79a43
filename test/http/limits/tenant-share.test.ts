// One tenant fills its share of a process, and another tenant does not notice.
import { expect, test } from '@jest/globals'
import { postPayment } from '../../support/client.ts'
import type { Tenant } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { limitedApi } from '../../support/for-file.ts'

const PLACES = 20
const SAMPLES = 15

/** Generous, because other processes use the machine. Without shares the neighbour gets no answer. */
const RATIO_MAX = 5

const api = limitedApi({
  MAX_CONCURRENT_REQUESTS: String(PLACES),
  // The stuck requests last as long as the test measures.
  STORE_TIMEOUT_MS: '60000',
})

test('a neighbour is served as fast as alone while all requests of a tenant are stuck', async () => {
  const [greedy, neighbour] = [await api.createTenant(), await api.createTenant()]
  await medianMs(neighbour)
  const aloneMs = await medianMs(neighbour)
  const stuck = await stickIn(greedy)
  const requests = Array.from({ length: 2 * PLACES }, () => postPayment(api.url, greedy))
  await Promise.race(requests)
  await until(areStuck)

  const besideMs = await medianMs(neighbour)
  await stuck.release()
  const answers = await Promise.all(requests)
  // What else runs on the machine may have begun since the first measurement.
  const againMs = await medianMs(neighbour)

  // Those that come before the first is authenticated may find no place at all.
  const problems = answers.map(({ json }) => json['type'])
  expect(problems).toContain('/problems/too-many-concurrent-requests')
  expect(besideMs / Math.max(aloneMs, againMs)).toBeLessThan(RATIO_MAX)
  expect(answers.filter(({ status }) => status === 202)).toHaveLength(PLACES / 2)
})

/** Locks the row that every reservation of the tenant refers to. */
async function stickIn({ id }: Tenant) {
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  const { promise: locked, resolve: lock } = Promise.withResolvers<void>()
  const holding = api.store.sql.begin(async (tx) => {
    await tx`select from tenants where id = ${id} for update`
    lock()
    await held
  })
  await locked
  return {
    async release() {
      release()
      await holding
    },
  }
}

/** Later requests would join or follow a statement long before it has waited for so long. */
const STUCK_MS = 250

/** Whether all statements of the tenant have been sent, and wait for the lock. */
async function areStuck(): Promise<boolean> {
  const [row] = await api.store.sql<{ stuck: boolean | null }[]>`
    select bool_and(query_start < now() - ${STUCK_MS} * interval '1 millisecond') as stuck
    from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'
  `
  return row?.stuck === true
}

async function medianMs(tenant: Tenant): Promise<number> {
  const times: number[] = []
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    const startedAt = performance.now()
    expect((await postPayment(api.url, tenant)).status).toBe(202)
    times.push(performance.now() - startedAt)
  }
  return times.toSorted((one, other) => one - other)[Math.floor(SAMPLES / 2)] ?? 0
}
