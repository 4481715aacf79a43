import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, chmod } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import postgresClient from 'postgres'
import { migrateDatabase } from '../../src/migrations/migrate.ts'
import {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
} from '../../dev/embedded-postgres/postgres.ts'
import { get, paymentBody, postPayment, read } from '../support/client.ts'
import { fetchApi } from '../support/documented.ts'
import { expectLedgerBalanced } from '../support/ledger.ts'
import { startService, type OwnService, type Tenant } from '../support/service.ts'
import { until } from '../support/until.ts'
import { signalAll } from '../support/signal-all.ts'

// These tests stop PostgreSQL, so they use their own server.
let directory: string
let postgres: EmbeddedPostgres
let service: OwnService
let tenant: Tenant

const STORE_TIMEOUT_MS = 2_000

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
  service = await startService({ STORE_TIMEOUT_MS: String(STORE_TIMEOUT_MS) }, databaseUrl)
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

describe('while nothing can be written', () => {
  const ready = async () => await read(await fetchApi(`${service.apiUrl}/readyz`))
  const untilReady = async (status: number) => {
    await until(async () => (await ready()).status === status)
    return await ready()
  }
  const asOwner = async (...statements: string[]) => {
    const sql = postgresClient(postgres.url('postgres'), {
      max: 1,
      connection: { default_transaction_read_only: false },
    })
    for (const statement of statements) await sql.unsafe(statement)
    await sql.end()
  }

  test.each([
    [
      'because the server refuses writes',
      ['alter system set default_transaction_read_only = on', 'select pg_reload_conf()'],
      ['alter system reset default_transaction_read_only', 'select pg_reload_conf()'],
    ],
    [
      'because the disk is full',
      [
        `create function disk_full() returns trigger language plpgsql as $$
         begin raise exception 'could not extend file' using errcode = 'disk_full'; end $$`,
        `create trigger disk_full before insert on service_processes
         for each row execute function disk_full()`,
      ],
      ['drop trigger disk_full on service_processes', 'drop function disk_full'],
    ],
  ])('/readyz is 503, %s; reads are served', async (_why, begin, end) => {
    expect((await untilReady(200)).json).toMatchObject({ status: 'ok' })
    await asOwner(...begin)
    const refused = await untilReady(503)
    const payments = await get(service.apiUrl, tenant, '/v1/payments')
    await asOwner(...end)

    expect(refused.json).toMatchObject({ checks: { database: 'read_only' } })
    expect(payments.status).toBe(200)
    expect((await untilReady(200)).json).toMatchObject({ checks: { database: 'ok' } })
  })
})

test('while the store hangs: 503 in time, and one charge when it continues', async () => {
  const key = randomUUID()
  const before = await executedCount()
  const backends = await service.store.sql<{ pid: number }[]>`select pid from pg_stat_activity`
  const pids = [postgres.pid, ...backends.map(({ pid }) => pid)]
  // The API key is cached, so that each request waits for its own statement.
  await get(service.apiUrl, tenant, '/v1/payments')
  let frozen
  try {
    signalAll(pids, 'SIGSTOP')
    frozen = await Promise.all([
      timed(postPayment(service.apiUrl, tenant, paymentBody(), { key })),
      timed(get(service.apiUrl, tenant, '/v1/payments')),
    ])
  } finally {
    signalAll(pids, 'SIGCONT')
  }

  for (const { answer, tookMs } of frozen) {
    expect(answer.status).toBe(503)
    expect(tookMs).toBeGreaterThan(STORE_TIMEOUT_MS / 2)
    // A silent connection is given up after twice the limit.
    expect(tookMs).toBeLessThan(1.8 * STORE_TIMEOUT_MS)
  }
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

async function timed<Answer>(answer: Promise<Answer>) {
  const startedAt = performance.now()
  return { answer: await answer, tookMs: performance.now() - startedAt }
}

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
