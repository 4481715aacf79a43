// Tests how many connections the processes have to the database under load. What the documents and the
// manifests add up is the most that a process has.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { OTHER_CONNECTIONS } from '../../src/migrations/database-facts.ts'
import { postPayment } from '../support/client.ts'
import { until } from '../support/until.ts'
import { startService, type OwnService } from '../support/service.ts'

const POOL_SIZE = 3
const PAYMENTS = 60

let service: OwnService

beforeAll(async () => {
  service = await startService({
    DATABASE_POOL_SIZE: String(POOL_SIZE),
    // So many payments at once take a slow machine longer than the limits of other tests.
    PROVIDER_TIMEOUT_MS: '5000',
    LEASE_MS: '10000',
    WAIT_SECONDS: '30',
  })
})
afterAll(() => service.stop())

interface Session {
  readonly name: string
  readonly count: number
  readonly listening: number
}

async function readSessions(): Promise<Map<string, Session>> {
  const rows = await service.store.sql<Session[]>`
    select
      application_name as name, count(*)::int as count,
      count(*) filter (where query ilike 'listen%')::int as listening
    from pg_stat_activity
    where datname = current_database() and application_name ~ '^atomic-payments (api|worker)'
    group by application_name
  `
  return new Map(rows.map((row) => [row.name, row]))
}

test('under load no process has more connections than it may have, and each listens on one', async () => {
  const tenant = await service.createTenant()
  const most = new Map<string, number>()
  const over = new AbortController()
  const sampling = (async () => {
    while (!over.signal.aborted) {
      for (const [name, { count }] of await readSessions()) {
        most.set(name, Math.max(most.get(name) ?? 0, count))
      }
    }
  })()

  const payments = Array.from({ length: PAYMENTS }, () => postPayment(service.apiUrl, tenant))
  const answers = await Promise.all(payments)
  over.abort()
  await sampling

  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]))
  // The search for the primary has a name of its own: one connection for each pool.
  const limits = {
    'atomic-payments api': POOL_SIZE + OTHER_CONNECTIONS.api - 1,
    'atomic-payments worker': POOL_SIZE + 1,
    'atomic-payments worker jobs': OTHER_CONNECTIONS.worker - 3,
  }
  expect([...most.keys()].toSorted()).toEqual(Object.keys(limits))
  for (const [name, limit] of Object.entries(limits)) {
    expect(most.get(name)).toBeLessThanOrEqual(limit)
  }
  // The last statement of a listening connection may be one that checks it.
  await until(async () => {
    const sessions = await readSessions()
    const listening = (name: string) => sessions.get(`atomic-payments ${name}`)?.listening
    return listening('api') === 1 && listening('worker') === 1 && listening('worker jobs') === 0
  })
})
