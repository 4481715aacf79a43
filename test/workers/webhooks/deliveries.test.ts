// Tests which deliveries an event gets, and that they are sent again on request: one by a
// redelivery, the failed ones of an endpoint by a replay.
import { describe, expect, test } from '@jest/globals'
import {
  redeliverIfEnabled,
  replayFailedDeliveries,
} from '../../../src/db/webhooks/webhook-deliveries.ts'
import { type NewEndpoint } from '../../../src/db/webhooks/webhook-endpoints.ts'
import {
  RETRY_DELAYS_SECONDS,
  type WebhookDelivery,
} from '../../../src/domain/webhooks/webhook-delivery.ts'
import { status } from '../../support/receiver.ts'
import {
  deliveries,
  endPauses,
  makeEndpoint,
  makePayment,
  onlyDelivery,
  queuedJobs,
  receiver,
  runNextJob,
  store,
  tenantId,
} from './webhook-work.ts'

describe('the deliveries of an event', () => {
  test('are one per subscribed endpoint, each with a job that starts at once', async () => {
    const [all, some] = [
      await makeEndpoint(),
      await makeEndpoint({ eventTypes: ['payment.created'] }),
    ]
    await makeEndpoint({ eventTypes: ['payment.succeeded'] })
    await makePayment()

    const made = await deliveries()
    expect(made.map(({ endpointId }) => endpointId).toSorted()).toEqual(
      [all.id, some.id].toSorted(),
    )
    expect(made.map(({ status: is }) => is)).toEqual(['pending', 'pending'])
    const jobs = await queuedJobs()
    expect(jobs.map(({ data }) => data.deliveryId).toSorted()).toEqual(
      made.map(({ id }) => id).toSorted(),
    )
    expect(jobs.every(({ data, startsIn }) => data.attempt === 1 && startsIn <= 0)).toBe(true)
  })
})

describe('a redelivery', () => {
  const redeliver = ({ id }: WebhookDelivery) =>
    store.sql.begin((tx) => redeliverIfEnabled(tx, { tenantId, id }))

  test('is sent at once, with the same message id and a new schedule', async () => {
    await makeEndpoint()
    await makePayment()
    receiver.answer = status(500)
    for (let attempt = 0; attempt <= RETRY_DELAYS_SECONDS.length; attempt += 1) {
      await endPauses()
      await runNextJob()
    }

    expect(await redeliver(await onlyDelivery())).toBe(true)
    expect(await onlyDelivery()).toMatchObject({ status: 'pending' })
    const [job] = await queuedJobs()
    expect(job?.startsIn).toBeLessThanOrEqual(0)
    await runNextJob()

    const ids = receiver.received.map(({ headers }) => headers['webhook-id'])
    expect(ids).toHaveLength(RETRY_DELAYS_SECONDS.length + 2)
    expect(new Set(ids).size).toBe(1)
    const [retry] = await queuedJobs()
    expect(Math.abs((retry?.startsIn ?? 0) - RETRY_DELAYS_SECONDS[0])).toBeLessThan(5)
  })

  test('of a delivery that waits for its next attempt makes that attempt at once, and only once', async () => {
    await makeEndpoint()
    await makePayment()
    receiver.answer = status(500)
    await runNextJob()
    await redeliver(await onlyDelivery())
    receiver.answer = status(200)

    expect(await queuedJobs()).toHaveLength(2)
    await runNextJob()
    expect(await runNextJob()).toMatchObject({ status: 'completed' })
    expect(receiver.received).toHaveLength(2)
    expect(await onlyDelivery()).toMatchObject({ status: 'succeeded' })
  })
})

describe('a replay', () => {
  const replay = (endpoint: NewEndpoint, limit: number) =>
    store.sql.begin((tx) =>
      replayFailedDeliveries(tx, endpoint, new Date(Date.now() - 60_000), limit),
    )
  async function failDeliveries(times: number): Promise<NewEndpoint> {
    const endpoint = await makeEndpoint()
    for (let delivery = 0; delivery < times; delivery += 1) await makePayment()
    await store.sql`
      update webhook_deliveries set status = 'failed', next_attempt_at = null
      where tenant_id = ${tenantId}
    `
    await store.sql`delete from atomic_jobs.job`
    return endpoint
  }

  test('starts the oldest deliveries, up to the limit, each with one job', async () => {
    const endpoint = await failDeliveries(5)

    expect(await replay(endpoint, 3)).toBe(3)
    const oldestFirst = (await deliveries()).toReversed()
    const [started, left] = [oldestFirst.slice(0, 3), oldestFirst.slice(3)]
    expect(started.map(({ status: is }) => is)).toEqual(['pending', 'pending', 'pending'])
    expect(left.map(({ status: is }) => is)).toEqual(['failed', 'failed'])
    const jobs = await queuedJobs()
    expect(jobs.map(({ data }) => data.deliveryId).toSorted()).toEqual(
      started.map(({ id }) => id).toSorted(),
    )
    expect(await replay(endpoint, 3)).toBe(2)
    expect(await replay(endpoint, 3)).toBe(0)
  })

  test('of two requests at once starts each delivery once', async () => {
    const endpoint = await failDeliveries(4)
    const counts = await Promise.all([replay(endpoint, 10), replay(endpoint, 10)])

    expect(counts.toSorted()).toEqual([0, 4])
    expect(await queuedJobs()).toHaveLength(4)
  })
})
