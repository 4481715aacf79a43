import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, chmod } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { migrateDatabase } from '../../src/db/migrations/migrate.ts'
import {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
} from '../../dev/embedded-postgres/postgres.ts'
import { get, paymentBody, postPayment, read } from '../support/client.ts'
import { fetchApi } from '../support/documented.ts'
import { expectLedgerBalanced } from '../support/ledger.ts'
import { startService, type OwnService, type Tenant } from '../support/service.ts'
import { signalAll } from '../support/signal-all.ts'

// These tests stop PostgreSQL, so they use their own server.
let directory: string
let postgres: EmbeddedPostgres
let service: OwnService
let tenant: Tenant

const start = (port?: number) =>
  startEmbeddedPostgres({
    directory: join(directory, 'postgres'),
    durable: true,
    ...(port === undefined ? {} : { port }),
    log: () => {},
  })

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'atomic-payments-test-'))
  await chmod(directory, 0o755)
  postgres = await start()
  const databaseUrl = postgres.url('postgres')
  await migrateDatabase(databaseUrl)
  service = await startService({ STORE_TIMEOUT_MS: '1000' }, databaseUrl)
  tenant = await service.createTenant()
})

afterEach(() => expectLedgerBalanced(service.store))

afterAll(async () => {
  try {
    await service.stop()
  } finally {
    await postgres.stop()
    await rm(directory, { recursive: true, force: true })
  }
})

test('while the store is down: 503 with Retry-After, and no provider call; afterwards everything continues', async () => {
  const before = await postPayment(service.apiUrl, tenant)
  const key = randomUUID()
  await postgres.stop('immediate')

  const down = await postPayment(service.apiUrl, tenant, paymentBody(), { key })
  const replay = await get(service.apiUrl, tenant, `/v1/payments/${String(before.json['id'])}`)
  const ready = await read(await fetchApi(`${service.apiUrl}/readyz`))
  const alive = await read(await fetchApi(`${service.apiUrl}/healthz`))

  for (const answer of [down, replay]) {
    expect(answer.status).toBe(503)
    expect(answer.json['type']).toBe('/problems/store-unavailable')
    expect(answer.headers.get('retry-after')).toMatch(/^[12]$/)
  }
  expect(ready).toMatchObject({ status: 503, json: { checks: { database: 'unreachable' } } })
  expect(alive.status).toBe(200)
  expect(await executedCount()).toBe(2)

  postgres = await start(postgres.port)
  const after = await untilServed(key)
  expect(after.json).toMatchObject({ status: 'succeeded' })
  expect(await executedCount()).toBe(4)
})

test('while the store hangs: 503 in time, and one charge when it continues', async () => {
  const key = randomUUID()
  const before = await executedCount()
  const backends = await service.store.sql<{ pid: number }[]>`select pid from pg_stat_activity`
  const pids = [postgres.pid, ...backends.map(({ pid }) => pid)]
  let frozen
  try {
    signalAll(pids, 'SIGSTOP')
    frozen = await postPayment(service.apiUrl, tenant, paymentBody(), { key })
  } finally {
    signalAll(pids, 'SIGCONT')
  }

  expect(frozen.status).toBe(503)
  const after = await untilServed(key)
  expect(after.json).toMatchObject({ status: 'succeeded' })
  expect(await executedCount()).toBe(before + 2)
})

test('no log contains a part of an API key or a parameter of a statement', () => {
  for (const line of [...service.api.lines, ...service.worker.lines]) {
    expect(line).not.toContain(tenant.apiKey.slice(0, 16))
    expect(line).not.toContain('params:')
  }
})

async function executedCount(): Promise<number> {
  const { data } = (await service.control('GET', 'executed')) as { data: unknown[] }
  return data.length
}

/** Retries as a client does, with the same key, until the answer is final. */
async function untilServed(key: string) {
  for (;;) {
    const answer = await postPayment(service.apiUrl, tenant, paymentBody(), {
      key,
      headers: { prefer: 'wait=30' },
    })
    if (answer.status === 201) return answer
    expect([409, 503]).toContain(answer.status)
  }
}
