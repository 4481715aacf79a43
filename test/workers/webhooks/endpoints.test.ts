// Tests the endpoints whose deliveries fail: when they are disabled, and what the others of their
// tenant are told.
import { describe, expect, test } from '@jest/globals'
import type { Transaction } from '../../../src/db/connection/client.ts'
import { listEvents } from '../../../src/db/events/events.ts'
import {
  deleteEndpoint,
  findEndpoint,
  updateEndpoint,
} from '../../../src/db/webhooks/webhook-endpoints.ts'
import { presentEvent } from '../../../src/domain/events/event.ts'
import { ENDPOINT_DISABLED } from '../../../src/domain/events/event-types.ts'
import { showEndpointId } from '../../../src/domain/webhooks/webhook-endpoint.ts'
import { makeTenant } from '../../db/reservations.ts'
import { status } from '../../support/receiver.ts'
import {
  deliveries,
  makeEndpoint,
  makePayment,
  onlyDelivery,
  queuedJobs,
  receiver,
  runNextJob,
  store,
  tenantId,
  verify,
  work,
} from './webhook-work.ts'

type EndpointRef = Parameters<typeof updateEndpoint>[1]
const disable = (tx: Transaction, endpoint: EndpointRef) =>
  updateEndpoint(tx, endpoint, { disabled: true })

describe('an endpoint', () => {
  test.each([
    ['5 days', { status: 'disabled', disabledReason: 'failing' }],
    ['4 days 23 hours', { status: 'enabled' }],
  ])('that has failed for %s is, after the next failure, %j', async (time, end) => {
    const { id } = await makeEndpoint()
    await makePayment()
    receiver.answer = status(500)
    await runNextJob()
    await store.sql`
      update webhook_endpoints set failing_since = now() - ${time}::interval where id = ${id}
    `
    await runNextJob()

    expect(await findEndpoint(store.sql, tenantId, id)).toMatchObject(end)
  })

  test('that answers 410 is disabled at once, and the delivery fails', async () => {
    const { id } = await makeEndpoint()
    await makePayment()
    receiver.answer = status(410)

    expect(await runNextJob()).toMatchObject({ status: 'completed' })
    expect(await findEndpoint(store.sql, tenantId, id)).toMatchObject({
      status: 'disabled',
      disabledReason: 'gone',
    })
    expect(await onlyDelivery()).toMatchObject({
      status: 'failed',
      attempts: [{ httpStatus: 410 }],
    })
    expect(await queuedJobs()).toEqual([])
  })

  test.each([
    ['failing', 500],
    ['gone', 410],
  ] as const)(
    'that is disabled as %s tells the other endpoints of its tenant',
    async (reason, code) => {
      const { id, secret } = await makeEndpoint({ description: 'books' })
      await makePayment()
      const other = await makeEndpoint({ url: `${receiver.url}/other` })
      await makeEndpoint({ eventTypes: ['payment.created'] })
      await makeEndpoint({ tenantId: await makeTenant(store) })
      await store.sql`
      update webhook_endpoints set failing_since = now() - interval '6 days' where id = ${id}
    `
      receiver.answer = status(code)
      await runNextJob()

      const [event, ...others] =
        (await listEvents(store.sql, tenantId, {}, { limit: 10 }))?.items ?? []
      expect(others.map(({ type }) => type)).toEqual(['payment.created'])
      expect(event && presentEvent(event)).toEqual({
        id: expect.stringMatching(/^evt_/),
        object: 'event',
        type: 'webhook_endpoint.disabled',
        data: {
          object: {
            id: showEndpointId(id),
            object: 'webhook_endpoint',
            description: 'books',
            status: 'disabled',
            disabled_reason: reason,
            failing_since: expect.any(String),
          },
        },
        request: { idempotency_key: null },
        created_at: expect.any(String),
        timestamp: expect.any(String),
      })
      const [row] = await store.sql`select object::text from events where id = ${event?.id ?? ''}`
      expect(String(row?.['object'])).not.toContain(receiver.url)
      expect(String(row?.['object'])).not.toContain(secret)
      const told = (await deliveries()).filter(({ eventId }) => eventId === event?.id)
      expect(told.map(({ endpointId }) => endpointId)).toEqual([other.id])

      receiver.answer = status(204)
      const [retryOrNews, ...more] = (await queuedJobs()).filter(
        ({ data }) => data.deliveryId === told[0]?.id,
      )
      expect(more).toEqual([])
      await work({ id: 'job', data: retryOrNews?.data })
      const request = receiver.received.at(-1)
      expect(request?.path).toBe('/webhooks/other')
      expect(request && verify(other.secret, request)).toEqual(event && presentEvent(event))
    },
  )

  test('that two attempts disable together tells so once', async () => {
    const { id } = await makeEndpoint()
    await makePayment()
    await makePayment()
    await store.sql`
      update webhook_endpoints set failing_since = now() - interval '6 days' where id = ${id}
    `
    const held: (() => void)[] = []
    receiver.answer = (response) => void held.push(() => response.writeHead(500).end())
    const both = [runNextJob(), runNextJob()]
    await receiver.waitFor(2)
    held.forEach((release) => release())
    await Promise.all(both)

    const found = await listEvents(store.sql, tenantId, { type: ENDPOINT_DISABLED }, { limit: 10 })
    expect(found?.items).toHaveLength(1)
  })

  test('that has another URL receives pending deliveries there', async () => {
    const { id } = await makeEndpoint()
    await makePayment()
    const url = `${receiver.url}/new`
    await store.sql.begin((tx) => updateEndpoint(tx, { tenantId, id }, { url }))
    await runNextJob()

    expect(receiver.received.map(({ path }) => path)).toEqual(['/webhooks/new'])
  })

  test.each<[string, (tx: Transaction, endpoint: EndpointRef) => Promise<unknown>]>([
    ['deleted', deleteEndpoint],
    ['disabled', disable],
  ])('that was %s receives no pending deliveries', async (_what, end) => {
    const { id } = await makeEndpoint()
    await makePayment()
    await store.sql.begin(async (tx) => void (await end(tx, { tenantId, id })))

    expect(await runNextJob()).toMatchObject({ status: 'completed' })
    expect(await onlyDelivery()).toMatchObject({ status: 'failed', attempts: [] })
    expect(receiver.received).toEqual([])
  })

  test('whose URL is no longer allowed receives nothing', async () => {
    await makeEndpoint({ url: 'http://10.0.0.1/' })
    await makePayment()
    await runNextJob()

    expect(await onlyDelivery()).toMatchObject({
      status: 'pending',
      attempts: [{ error: 'url_refused', httpStatus: null }],
    })
  })
})
