import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { countLockWaits, measureHotKey } from '../../../bench/speed/hot-key.ts'
import { openStore, type Store } from '../../../src/db/connection/client.ts'
import { createTenant } from '../../../src/db/tenants/tenants.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database.ts'
import { startProcess } from '../../support/processes.ts'
import { listening } from '../../support/listening.ts'
import { startApi } from '../../support/service-parts.ts'
import { until } from '../../support/until.ts'

const DUPLICATES = 8
const acceptFirst = (nth: number) => (nth === 1 ? 202 : 409)
const TENANT = { id: randomUUID(), apiKey: 'sk_test_x' }

describe('the measurement of a hot key', () => {
  let database: TestDatabase
  let store: Store

  beforeAll(async () => {
    database = await createTestDatabase()
    store = openStore({
      url: database.url,
      applicationName: 'test',
      poolSize: 4,
      timeoutMs: 10_000,
    })
  })

  afterAll(async () => {
    await store.close()
    await database.drop()
  })

  /** Measures a server that answers the n-th request of a key with the status. */
  async function measure(statusOf: (nth: number) => number) {
    const seen = new Map<string, number>()
    const server = createServer((request, response) => {
      const key = String(request.headers['idempotency-key'])
      const nth = (seen.get(key) ?? 0) + 1
      seen.set(key, nth)
      response.writeHead(statusOf(nth)).end()
    })
    const { url: apiUrl, stop } = await listening(server)
    const place = {
      apiUrl,
      tenant: TENANT,
      signal: new AbortController().signal,
    }
    try {
      return { seen, answers: await measureHotKey(place, DUPLICATES, 0.2, store.sql) }
    } finally {
      await stop()
    }
  }

  test('expects one accepted request for each key, and counts its time apart', async () => {
    const { seen, answers } = await measure(acceptFirst)

    const groups = [...seen.values()].filter((count) => count === DUPLICATES).length
    // The first group only opens the connections.
    expect(answers.timesMs).toHaveLength((groups - 1) * DUPLICATES)
    expect(answers).toMatchObject({ unexpected: 0, non2xx: (groups - 1) * (DUPLICATES - 1) })
    expect(answers.hotKey?.ownerMs).toBeGreaterThan(0)
    expect(answers.hotKey).toMatchObject({ lockWaits: 0, lockWaitsMost: 0 })
  })

  test('finds nothing unexpected at the API, while no worker completes a payment', async () => {
    const apiKey = `sk_test_${randomUUID().replaceAll('-', '')}`
    const id = await createTenant(store, { name: 'a tenant', apiKey })
    const env = { DATABASE_URL: database.url }
    const { url: apiUrl } = await startApi(startProcess, env)
    const { signal } = new AbortController()
    const place = { apiUrl, tenant: { id, apiKey }, signal }

    const answers = await measureHotKey(place, DUPLICATES, 0.5, store.sql)

    expect(answers.unexpected).toBe(0)
    expect(answers.non2xx).toBeGreaterThanOrEqual(DUPLICATES - 1)
  })

  test.each([
    ['a second accepted request', (nth: number) => (nth <= 2 ? 202 : 409)],
    ['no accepted request', () => 409],
    ['another status', (nth: number) => (nth === 1 ? 202 : nth === 2 ? 500 : 409)],
  ])('counts %s as unexpected', async (_, statusOf) => {
    const { answers } = await measure(statusOf)

    expect(answers.unexpected).toBe(answers.timesMs.length / DUPLICATES)
  })

  test('counts the sessions that wait for a lock meanwhile', async () => {
    const { sql } = store
    const { answers, waiting } = await sql.begin(async (tx) => {
      await tx`select pg_advisory_xact_lock(1)`
      const waits = Promise.resolve(sql`select pg_advisory_xact_lock(1)`)
      await until(async () => (await countLockWaits(sql)) === 1)
      return { ...(await measure(acceptFirst)), waiting: { waits } }
    })

    await waiting.waits
    expect(answers.hotKey).toMatchObject({ lockWaits: 1, lockWaitsMost: 1 })
  })
})
