// Tests the graceful shutdown between SIGTERM and exit: a process starts no new work, completes
// what it can, and hands over the rest, so that no operation waits for the lease of a stopped
// process to expire.
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { fetchApi } from '../support/documented.ts'
import { get, paymentBody, postPayment } from '../support/client.ts'
import { expectLedgerBalanced } from '../support/ledger.ts'
import type { ServiceProcess } from '../support/processes.ts'
import { startService, type OwnService, type Tenant } from '../support/service.ts'
import { until } from '../support/until.ts'

let service: OwnService
let tenant: Tenant

/** Longer than any test of this file: a test that waits for a lease to expire fails. */
const LEASE_MS = 120_000

beforeAll(async () => {
  service = await startService({
    LEASE_MS: String(LEASE_MS),
    PROVIDER_TIMEOUT_MS: '30000',
    WAIT_MAX_SECONDS: '60',
  })
  tenant = await service.createTenant()
  // Each test starts its own workers, so that it knows which worker has the job.
  service.worker.kill('SIGTERM')
  await service.worker.exited
})

afterEach(() => service.control('DELETE', 'faults'))

afterEach(() => expectLedgerBalanced(service.store))

afterAll(() => service.stop())

const CREATE = '/v1/payment_intents'

async function accept(key: string, url = service.apiUrl): Promise<string> {
  const headers = { prefer: 'respond-async' }
  const { json } = await postPayment(url, tenant, paymentBody(), { key, headers })
  return String(json['id'])
}

const finalAnswer = (key: string) =>
  postPayment(service.apiUrl, tenant, paymentBody(), { key, headers: { prefer: 'wait=60' } })

/** Waits until the provider has authorized. The response is still delayed. */
async function untilExecuted(id: string): Promise<void> {
  await until(async () => (await service.executedFor({ id })).length > 0)
}

async function stop(process: ServiceProcess): Promise<void> {
  process.kill('SIGTERM')
  expect(await process.exited).toEqual({ code: 0, signal: null })
}

interface Run {
  readonly recovery_point: string | null
  readonly attempt: number
  readonly provider: { readonly outcome: string } | null
}

/** Returns the recovery point and the attempt of each run. A run without one has its outcome. */
async function timelineOf(id: string): Promise<[string | undefined, number][]> {
  const { json } = await get(service.apiUrl, tenant, `/v1/payments/${id}/timeline`)
  return (json['data'] as Run[]).map((run) => [
    run.recovery_point ?? run.provider?.outcome,
    run.attempt,
  ])
}

test('a worker stopped during a call completes the phase, and the operation if time is left', async () => {
  const key = randomUUID()
  const worker = await service.startWorker({ PROVIDER_TIMEOUT_MS: '4000' })
  const fault = { match: { path: CREATE }, fault: 'delay', delay_ms: 2_500 }
  await service.control('POST', 'faults', fault)
  const id = await accept(key)
  await untilExecuted(id)
  await stop(worker)
  const final = await finalAnswer(key)

  expect(final.status).toBe(201)
  expect(await timelineOf(id)).toEqual([
    ['started', 0],
    ['authorized', 1],
    ['captured', 1],
    ['finished', 1],
  ])
})

test('a worker without time for another call hands over after the completed phase', async () => {
  const key = randomUUID()
  // Three quarters of the shutdown timeout are less than a call may take.
  const short = { SHUTDOWN_TIMEOUT_MS: '6000', PROVIDER_TIMEOUT_MS: '5000' }
  const worker = await service.startWorker(short)
  const fault = { match: { path: CREATE }, fault: 'delay', delay_ms: 2_500 }
  await service.control('POST', 'faults', fault)
  const id = await accept(key)
  await untilExecuted(id)
  await stop(worker)
  const successor = await service.startWorker()
  const final = await finalAnswer(key)
  await stop(successor)

  expect(final.status).toBe(201)
  expect(await timelineOf(id)).toEqual([
    ['started', 0],
    ['authorized', 1],
    ['captured', 2],
    ['finished', 2],
  ])
  expect(await service.executedFor({ id })).toHaveLength(2)
})

test('a worker that cannot wait for a call releases its lease in doubt, and the next worker repeats the call', async () => {
  const key = randomUUID()
  const worker = await service.startWorker({ SHUTDOWN_TIMEOUT_MS: '5000' })
  await service.control('POST', 'faults', { match: { path: CREATE }, fault: 'hang_after' })
  const id = await accept(key)
  await untilExecuted(id)
  await stop(worker)
  const left = await get(service.apiUrl, tenant, `/v1/idempotency-keys/${key}`)
  const successor = await service.startWorker()
  const final = await finalAnswer(key)
  await stop(successor)

  expect(left.json).toMatchObject({ status: 'pending', recovery_point: 'started' })
  expect(final.status).toBe(201)
  expect(await timelineOf(id)).toEqual([
    ['started', 0],
    ['unknown', 1],
    ['authorized', 2],
    ['captured', 2],
    ['finished', 2],
  ])
  const executed = await service.executedFor({ id })
  expect(executed.map(({ kind }) => kind)).toEqual([
    'payment_intent.create',
    'payment_intent.capture',
  ])
})

test('a stopped API reports that it is not ready, answers for a while, and then exits', async () => {
  const { url, process } = await service.startApi({ DRAIN_DELAY_MS: '2000' })
  const before = await fetchApi(`${url}/readyz`)
  process.kill('SIGTERM')
  let during = await fetchApi(`${url}/readyz`)
  while (during.status === 200) during = await fetchApi(`${url}/readyz`)
  const accepted = await postPayment(url, tenant, paymentBody(), {
    headers: { prefer: 'respond-async' },
  })
  const alive = await fetchApi(`${url}/healthz`)

  expect(before.headers.get('connection')).toBe('keep-alive')
  expect(during.status).toBe(503)
  expect(during.headers.get('retry-after')).not.toBeNull()
  expect(accepted.status).toBe(202)
  expect(accepted.headers.get('connection')).toBe('close')
  expect(alive.status).toBe(200)
  expect(await process.exited).toEqual({ code: 0, signal: null })
  await expect(fetch(`${url}/healthz`)).rejects.toThrow()
})

test('a stopped API answers waiting requests and closes their connections', async () => {
  const { url, process } = await service.startApi({ DRAIN_DELAY_MS: '100' })
  const key = randomUUID()
  const waiting = postPayment(url, tenant, paymentBody(), { key, headers: { prefer: 'wait=60' } })
  const accepted = () => service.store.sql`select from idempotency_keys where key = ${key}`
  await until(async () => (await accepted()).length > 0)
  await stop(process)
  const answer = await waiting

  expect(answer.status).toBe(202)
  expect(answer.headers.get('connection')).toBe('close')
})

test('a stopped API does not wait for a silent connection', async () => {
  const { url, process } = await service.startApi({ DRAIN_DELAY_MS: '100' })
  const { hostname, port } = new URL(url)
  const silent = connect(Number(port), hostname)
  silent.on('error', () => {})
  await once(silent, 'connect')
  // This later connection was accepted, so the silent one was accepted before it.
  await fetchApi(`${url}/healthz`)

  await stop(process)
  silent.destroy()
})
