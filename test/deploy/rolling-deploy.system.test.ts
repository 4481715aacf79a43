// Tests a rolling deploy: a database of the previous version is migrated, while API and workers of that
// version still run next to the current ones. Each version completes what the other accepted, with the
// same response.
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { migrateDatabase } from '../../src/migrations/migrate.ts'
import { get, paymentBody, postPayment } from '../support/client.ts'
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts'
import {
  findEarlierVersions,
  migrationsAfter,
  NEXT,
  programOfVersion,
  unpackVersion,
  type EarlierProgram,
} from '../support/earlier-versions.ts'
import { expectLedgerBalanced } from '../support/ledger.ts'
import { startProcess, type ServiceProcess } from '../support/processes.ts'
import { ENCRYPTION_KEYS } from '../support/encryption.ts'
import { startService, type OwnService, type Tenant } from '../support/service.ts'
import { until } from '../support/until.ts'

/** Only the version before the newest migration. */
const VERSIONS = 1

const versions = await findEarlierVersions(VERSIONS)

const SETTINGS = {
  ENCRYPTION_KEYS,
  PROVIDER_TIMEOUT_MS: '5000',
  LEASE_MS: '10000',
  CALL_ATTEMPTS: '1',
  CALL_RETRY_DELAY_MS: '20',
  JOB_RETRY_LIMIT: '0',
  PROVIDER_OUTAGE_SECONDS: '0',
  CHECK_DELAYS_SECONDS: '0.1,1,2,4,8',
  CHECK_INTERVAL_MS: '100',
  SWEEP_INTERVAL_MS: '200',
  WAIT_SECONDS: '20',
}

const cases = versions.map(({ lacks, commit }) => ({ lacks, commit }))

if (cases.length === 0) {
  test('skips the previous version because the repository has no history', () => {
    expect(versions).toEqual([])
  })
} else {
  describe.each(cases)('the version before $lacks', (version) => {
    let folder: string
    let root: string
    let migrations: string
    let service: OwnService
    let upgraded: TestDatabase
    let tenant: Tenant
    let earlierApi: string

    const startEarlier = async (
      name: EarlierProgram,
      settings: Record<string, string> = {},
    ): Promise<ServiceProcess> => {
      const env = {
        ...SETTINGS,
        // A worker that stops leaves its compiled code to the next one.
        NODE_COMPILE_CACHE: join(folder, 'compiled'),
        DATABASE_URL: service.databaseUrl,
        STRIPE_SECRET_KEY: 'sk_test_mock',
        STRIPE_API_BASE: service.providerUrl,
        PORT: '0',
        ...settings,
      }
      const process = startProcess(programOfVersion(name), { env, root })
      await process.waitUntilReady()
      return process
    }
    const startEarlierApi = async (settings: Record<string, string> = {}) => {
      const process = await startEarlier('api', settings)
      const line = await process.waitForLine((candidate) => candidate.includes('"port":'))
      return { process, url: `http://127.0.0.1:${/"port":(\d+)/.exec(line)?.[1] ?? ''}` }
    }
    const stop = async (process: ServiceProcess) => {
      process.kill('SIGTERM')
      expect(await process.exited).toEqual({ code: 0, signal: null })
    }
    /** Runs the work while only one worker runs. */
    const withWorker = async <Value>(
      start: () => Promise<ServiceProcess>,
      work: () => Promise<Value>,
    ): Promise<Value> => {
      const worker = await start()
      try {
        return await work()
      } finally {
        await stop(worker)
      }
    }
    const earlierWorker = () => startEarlier('worker')
    const todaysWorker = () => service.startWorker()
    const pay = (url: string, key: string, headers: Record<string, string> = {}) =>
      postPayment(url, tenant, paymentBody(), { key, headers })

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'atomic-payments-earlier-'))
      root = await unpackVersion(version, join(folder, 'version'))
      upgraded = await createEmptyDatabase()
      migrations = await migrationsAfter(version, join(folder, 'migrations'))
      await run('migrate', { DATABASE_URL: upgraded.url }, { root })
      await migrateDatabase(upgraded.url, { folder: migrations })
      service = await startService(SETTINGS, upgraded.url)
      tenant = await service.createTenant()
      await stop(service.worker)
      earlierApi = (await startEarlierApi()).url
    })

    afterEach(() => service.control('DELETE', 'faults'))

    afterEach(() => expectLedgerBalanced(service.store))

    afterAll(async () => {
      await service.stop()
      await upgraded.drop()
      await rm(folder, { recursive: true, force: true })
    })

    test('is ready on the current schema', async () => {
      const ready = await fetch(`${earlierApi}/readyz`)

      expect(ready.status).toBe(200)
    })

    test('completes a payment on it, whose response the current API replays', async () => {
      const key = randomUUID()
      const first = await withWorker(earlierWorker, () => pay(earlierApi, key))
      const replayed = await pay(service.apiUrl, key)

      expect(first.status).toBe(201)
      expect(replayed.status).toBe(201)
      expect(replayed.text).toBe(first.text)
      expect(replayed.headers.get('idempotent-replayed')).toBe('true')
      expect(await service.executedFor(first.json as { id: string })).toHaveLength(2)
    })

    test.each([
      ['accepts a payment that the current worker completes', 'earlier', 'today'],
      ['completes a payment that the current API accepted', 'today', 'earlier'],
    ])('%s, and replays it like the current API', async (_, accepts, finishes) => {
      const key = randomUUID()
      const accepted = await pay(accepts === 'earlier' ? earlierApi : service.apiUrl, key, {
        prefer: 'respond-async',
      })
      const answers = await withWorker(finishes === 'earlier' ? earlierWorker : todaysWorker, () =>
        Promise.all(
          [earlierApi, service.apiUrl].map((url) => pay(url, key, { prefer: 'wait=20' })),
        ),
      )

      expect(accepted.status).toBe(202)
      expect(answers.map(({ status }) => status)).toEqual([201, 201])
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
      expect(await service.executedFor(accepted.json as { id: string })).toHaveLength(2)
    })

    test('leaves an unknown outcome to the current outcome resolver', async () => {
      const key = randomUUID()
      const match = { path: '/v1/payment_intents' }
      await service.control('POST', 'faults', { match, fault: 'nonsense_body' })
      const withoutResolver = () => startEarlier('worker', { CHECK_INTERVAL_MS: '60000' })
      const first = await withWorker(withoutResolver, () => pay(earlierApi, key))
      const final = await withWorker(todaysWorker, async () => {
        await until(async () => {
          const { json } = await get(service.apiUrl, tenant, `/v1/idempotency-keys/${key}`)
          return json['status'] === 'completed'
        })
        return await pay(service.apiUrl, key)
      })

      expect(first.status).toBe(202)
      expect(first.json).toMatchObject({ status: 'unknown' })
      expect(final.status).toBe(201)
      expect(await service.executedFor(first.json as { id: string })).toHaveLength(2)
    })

    test('completes a failed operation when its client retries', async () => {
      const key = randomUUID()
      await service.control('POST', 'faults', { match: { method: 'POST' }, fault: 'rate_limited' })
      const failed = await withWorker(todaysWorker, () => pay(service.apiUrl, key))
      const retried = await withWorker(earlierWorker, () => pay(earlierApi, key))

      expect(failed.status).toBe(503)
      expect(retried.status).toBe(201)
      expect(await service.executedFor(retried.json as { id: string })).toHaveLength(2)
    })

    test('leaves completed and unfinished operations to the current version after the migration', async () => {
      const database = await createEmptyDatabase()
      try {
        const settings = { DATABASE_URL: database.url }
        await run('migrate', settings, { root })
        const made = await run('tenants', settings, { root, args: ['create', 'test'] })
        const apiKey = /sk_\w+/.exec(made)?.[0] ?? ''
        const own = { id: '', apiKey }
        const api = await startEarlierApi({ DATABASE_URL: database.url })
        const worker = await startEarlier('worker', { DATABASE_URL: database.url })
        const [finished, unfinished] = [randomUUID(), randomUUID()]
        const first = await postPayment(api.url, own, paymentBody(), { key: finished })
        await stop(worker)
        const headers = { prefer: 'respond-async' }
        await postPayment(api.url, own, paymentBody(), { key: unfinished, headers })
        const todays = await service.startApi(settings)
        const tooEarly = await fetch(`${todays.url}/readyz`)
        await migrateDatabase(database.url, { folder: migrations })
        const inTime = await fetch(`${todays.url}/readyz`)
        await stop(api.process)
        await service.startWorker(settings)
        const replayed = await postPayment(todays.url, own, paymentBody(), { key: finished })
        const second = await postPayment(todays.url, own, paymentBody(), {
          key: unfinished,
          headers: { prefer: 'wait=20' },
        })

        expect(tooEarly.status).toBe(version.lacks === NEXT ? 200 : 503)
        expect(inTime.status).toBe(200)
        expect(first.status).toBe(201)
        expect(replayed.text).toBe(first.text)
        expect(second.status).toBe(201)
      } finally {
        await database.drop()
      }
    })
  })
}

/** Runs a script until it exits with code 0. Returns its output. */
async function run(
  name: EarlierProgram,
  env: Record<string, string>,
  options: { root: string; args?: readonly string[] },
): Promise<string> {
  const process = startProcess(programOfVersion(name), { env, ...options })
  expect(await process.exited).toEqual({ code: 0, signal: null })
  return process.lines.join('\n')
}
