// Tests the circuit of an endpoint: failures open it and its deliveries wait, until one attempt
// shows that the endpoint answers again.
import { randomUUIDv7 } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import {
  redeliverIfEnabled,
  replayFailedDeliveries,
} from '../../../src/db/webhooks/webhook-deliveries.ts'
import {
  findEndpoint,
  insertTestEvent,
  updateEndpoint,
} from '../../../src/db/webhooks/webhook-endpoints.ts'
import {
  FAILURES_TO_OPEN,
  FIRST_PAUSE_SECONDS,
  LONGEST_PAUSE_SECONDS,
} from '../../../src/domain/webhooks/webhook-endpoint.ts'
import { createSender } from '../../../src/webhooks/send-webhook.ts'
import { noNames } from '../../support/name-server.ts'
import { status } from '../../support/receiver.ts'
import {
  deliveries,
  makeEndpoint,
  makePayment,
  queuedJobs,
  receiver,
  runNextJob,
  store,
  tenantId,
  webhooks,
  work,
} from './webhook-work.ts'

describe('the circuit of an endpoint', () => {
  /** Fails the first attempts of so many deliveries, and leaves no job of them. */
  async function failAttempts(times: number, parts = webhooks): Promise<void> {
    for (let attempt = 0; attempt < times; attempt += 1) {
      await makePayment()
      await runNewestJob(parts)
    }
    await store.sql`delete from atomic_jobs.job`
  }

  /** An endpoint whose circuit is open. */
  async function opened(own: Parameters<typeof makeEndpoint>[0] = {}) {
    const endpoint = await makeEndpoint(own)
    receiver.answer = status(500)
    await failAttempts(FAILURES_TO_OPEN)
    return endpoint
  }

  /** The job of the newest first attempt: the retries of others wait in the queue, too. */
  async function runNewestJob(parts = webhooks) {
    const [job] = (await queuedJobs()).filter(({ data }) => data.attempt === 1)
    if (job === undefined) throw new Error('no first attempt waits')
    await store.sql`delete from atomic_jobs.job where data ->> 'deliveryId' = ${job.data.deliveryId}`
    return await work({ id: randomUUIDv7(), data: job.data }, parts)
  }

  const readEndpoint = async (id: string) => {
    const [row] = await store.sql<{ failures: number; pause: number | null; status: string }[]>`
      select consecutive_failures as failures, status,
        extract(epoch from paused_until - now())::float8 as pause
      from webhook_endpoints where id = ${id}
    `
    if (row === undefined) throw new Error('no endpoint')
    return row
  }
  const endPauseOf = (id: string) =>
    store.sql`update webhook_endpoints set paused_until = now() where id = ${id}`

  test('opens after five failures of different deliveries, and not before', async () => {
    const { id } = await makeEndpoint()
    receiver.answer = status(500)
    await failAttempts(FAILURES_TO_OPEN - 1)
    expect(await readEndpoint(id)).toMatchObject({ failures: FAILURES_TO_OPEN - 1, pause: null })

    await failAttempts(1)
    const { pause } = await readEndpoint(id)
    expect(Math.abs((pause ?? 0) - FIRST_PAUSE_SECONDS)).toBeLessThan(5)
    expect((await findEndpoint(store.sql, tenantId, id))?.pausedUntil).toBeInstanceOf(Date)
  })

  test('opens when the endpoint hangs', async () => {
    const { id } = await makeEndpoint()
    receiver.answer = () => {}
    await failAttempts(FAILURES_TO_OPEN, {
      ...webhooks,
      send: createSender({ timeoutMs: 50, allowInsecure: true, resolve: noNames }),
    })

    expect((await readEndpoint(id)).pause).toBeGreaterThan(0)
  })

  test('makes deliveries wait while it is open, without using up their tries', async () => {
    const { id } = await opened()
    await makePayment()
    const [job] = await queuedJobs()
    const result = await runNewestJob()

    expect(result).toMatchObject({ status: 'completed' })
    expect(receiver.received).toHaveLength(FAILURES_TO_OPEN)
    const [delivery] = await deliveries()
    expect(delivery).toMatchObject({ status: 'pending', attempts: [] })
    const [later, ...others] = await queuedJobs()
    expect(others).toEqual([])
    expect(later?.data).toEqual(job?.data)
    const { pause } = await readEndpoint(id)
    // Half of the spread of thirty seconds, because the random number is a half.
    expect(Math.abs((later?.startsIn ?? 0) - (pause ?? 0) - 15)).toBeLessThan(1)
    const waitsMs = (delivery?.nextAttemptAt?.getTime() ?? 0) - Date.now()
    expect(Math.abs(waitsMs / 1_000 - (later?.startsIn ?? 0))).toBeLessThan(5)
  })

  test('does not multiply the jobs of a delivery that waits', async () => {
    await opened()
    await makePayment()
    const [job] = await queuedJobs()
    await store.sql`delete from atomic_jobs.job`
    await work({ id: 'a', data: job?.data })
    await work({ id: 'b', data: job?.data })

    expect(await queuedJobs()).toHaveLength(1)
  })

  test('lets one attempt through after the pause, and closes when it succeeds', async () => {
    const { id } = await opened()
    await endPauseOf(id)
    const held: (() => void)[] = []
    receiver.answer = (response) => void held.push(() => response.writeHead(204).end())
    await makePayment()
    const testing = runNewestJob()
    await receiver.waitFor(FAILURES_TO_OPEN + 1)
    await makePayment()
    await runNewestJob()

    expect(receiver.received).toHaveLength(FAILURES_TO_OPEN + 1)
    held.forEach((release) => release())
    await testing
    expect(await readEndpoint(id)).toMatchObject({ failures: 0, pause: null })
    receiver.answer = status(204)
    await runNextJob()
    expect(receiver.received).toHaveLength(FAILURES_TO_OPEN + 2)
  })

  test('doubles the pause when that attempt fails, up to an hour', async () => {
    const { id } = await opened()
    const pauses: number[] = []
    for (let failed = 1; failed <= 9; failed += 1) {
      await endPauseOf(id)
      await failAttempts(1)
      pauses.push((await readEndpoint(id)).pause ?? 0)
    }

    const expected = [60, 120, 240, 480, 960, 1_920, 3_600, 3_600, 3_600]
    for (const [index, seconds] of expected.entries()) {
      expect(Math.abs((pauses[index] ?? 0) - seconds)).toBeLessThan(5)
    }
    await store.sql`
      update webhook_endpoints set consecutive_failures = 2000000, paused_until = now()
      where id = ${id}
    `
    await failAttempts(1)
    expect(Math.abs(((await readEndpoint(id)).pause ?? 0) - LONGEST_PAUSE_SECONDS)).toBeLessThan(5)
  })

  test('counts attempts that began together only until it opens', async () => {
    const { id } = await makeEndpoint()
    const held: (() => void)[] = []
    receiver.answer = (response) => void held.push(() => response.writeHead(500).end())
    const running = []
    for (let attempt = 0; attempt < FAILURES_TO_OPEN + 4; attempt += 1) {
      await makePayment()
      running.push(runNewestJob())
      await receiver.waitFor(attempt + 1)
    }
    held.forEach((release) => release())
    await Promise.all(running)

    const { failures, pause } = await readEndpoint(id)
    expect(failures).toBe(FAILURES_TO_OPEN)
    expect(pause).toBeLessThan(FIRST_PAUSE_SECONDS + 1)
  })

  test('lets another attempt through when the worker of the first died', async () => {
    const { id } = await opened()
    await endPauseOf(id)
    await makePayment()
    const send = () => Promise.reject(new Error('died'))
    expect(await runNewestJob({ ...webhooks, send })).toMatchObject({ status: 'failed' })

    const longestSeconds = 5 + 2 * 2
    expect(Math.abs(((await readEndpoint(id)).pause ?? 0) - longestSeconds)).toBeLessThan(2)
    await endPauseOf(id)
    await makePayment()
    await runNewestJob()
    expect(receiver.received).toHaveLength(FAILURES_TO_OPEN + 1)
  })

  test('does not concern another endpoint of the tenant', async () => {
    await opened({ eventTypes: ['payment.created'] })
    const other = await makeEndpoint({ url: `${receiver.url}/other` })
    await makePayment()
    await runNextJob()
    await runNextJob()

    expect(receiver.received.slice(FAILURES_TO_OPEN).map(({ path }) => path)).toEqual([
      '/webhooks/other',
    ])
    expect(await readEndpoint(other.id)).toMatchObject({ failures: 1 })
  })

  test.each(['redelivery', 'replay'])('lets the attempt of a %s through at once', async (what) => {
    const endpoint = await opened()
    receiver.answer = status(204)
    const [delivery] = await deliveries()
    const ref = { tenantId, id: delivery?.id ?? '' }
    await store.sql`
      update webhook_deliveries set status = 'failed', next_attempt_at = null where id = ${ref.id}
    `
    await store.sql.begin(async (tx) => {
      if (what === 'replay') await replayFailedDeliveries(tx, endpoint, new Date(0), 1)
      else await redeliverIfEnabled(tx, ref)
    })
    await runNextJob()

    expect(receiver.received).toHaveLength(FAILURES_TO_OPEN + 1)
  })

  test('lets a test event through at once', async () => {
    const endpoint = await opened()
    receiver.answer = status(204)
    await store.sql.begin((tx) => insertTestEvent(tx, endpoint))
    await runNextJob()

    expect(receiver.received).toHaveLength(FAILURES_TO_OPEN + 1)
    expect(await readEndpoint(endpoint.id)).toMatchObject({ failures: 0, pause: null })
  })

  test('is closed by another URL', async () => {
    const { id } = await opened()
    const url = `${receiver.url}/new`
    await store.sql.begin((tx) => updateEndpoint(tx, { tenantId, id }, { url }))

    expect(await readEndpoint(id)).toMatchObject({ failures: 0, pause: null })
  })
})
