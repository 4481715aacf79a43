import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { PAYMENT } from '../../../bench/speed/payment-requests.ts'
import { removeUnfinished } from '../../../bench/speed/unfinished.ts'
import { findFreePort } from '../../../dev/ports.ts'
import { openStore, type Store } from '../../../src/db/connection/client.ts'
import { JOB_SCHEMA } from '../../../src/db/queue/jobs.ts'
import { createTenant } from '../../../src/db/tenants/tenants.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database.ts'
import { startProcess } from '../../support/processes.ts'

const API_KEY = 'sk_test_of_the_tenant_without_keys'

/** What idempotency adds to an accepted answer. */
const KEYED_HEADERS = ['idempotency-key-expires', 'preference-applied']

describe('a payment without idempotency', () => {
  let database: TestDatabase
  let store: Store
  let tenantId: string
  let urls: { api: string; unkeyed: string }

  beforeAll(async () => {
    database = await createTestDatabase()
    // The measurement turns triggers off, which takes a superuser.
    const { adminUrl: url } = database
    store = openStore({ url, applicationName: 'test', poolSize: 2, timeoutMs: 10_000 })
    tenantId = await createTenant(store, { name: 'a tenant', apiKey: API_KEY })
    const [api, unkeyed] = await Promise.all([
      start('src/start/api.ts', url),
      start('bench/speed/compared/unkeyed-main.ts', url),
    ])
    urls = { api: `${api}/v1/payments`, unkeyed: `${unkeyed}/unkeyed/payments` }
  })

  afterAll(async () => {
    await store.close()
    await database.drop()
  })

  async function start(script: string, databaseUrl: string): Promise<string> {
    const port = String(await findFreePort())
    const env = { DATABASE_URL: databaseUrl, PORT: port }
    await startProcess(script, { env, isBundled: false }).waitUntilReady()
    return `http://127.0.0.1:${port}`
  }

  async function pay(url: string, headers: Record<string, string> = {}) {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${API_KEY}`,
        'content-type': 'application/json',
        ...headers,
      },
      body: PAYMENT,
    })
    const payment = (await response.json()) as Record<string, unknown>
    return { response, payment }
  }

  async function countRows() {
    const { sql } = store
    const [row] = await sql`
      select
        (select count(*)::int from payments) as payments,
        (select count(*)::int from events where type = 'payment.created') as events,
        (select count(*)::int from phase_runs where reached = 'started') as timeline,
        (select count(*)::int from ${sql(JOB_SCHEMA)}.job where name = 'operations') as jobs,
        (select count(*)::int from idempotency_keys) as keys
    `
    return row
  }

  test('is answered and written like one with a key, without the key', async () => {
    const keyed = await pay(urls.api, {
      'idempotency-key': randomUUID(),
      prefer: 'respond-async',
    })
    const unkeyed = await pay(urls.unkeyed)

    expect([unkeyed.response.status, keyed.response.status]).toEqual([202, 202])
    const names = (headers: Headers) => [...headers.keys()]
    expect(names(unkeyed.response.headers)).toEqual(
      names(keyed.response.headers).filter((name) => !KEYED_HEADERS.includes(name)),
    )
    expect(Object.keys(unkeyed.payment)).toEqual(Object.keys(keyed.payment))
    expect(await countRows()).toEqual({ payments: 2, events: 2, timeline: 2, jobs: 2, keys: 1 })
  })

  test('is deleted after a measurement like one with a key', async () => {
    await removeUnfinished(store.sql, tenantId)

    expect(await countRows()).toEqual({ payments: 0, events: 0, timeline: 0, jobs: 0, keys: 0 })
  })
})
