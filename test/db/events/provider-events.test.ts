// Tests the inbox of the provider's events: each event is stored once, always with its job, and
// closed once.
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import { PgBoss } from 'pg-boss'
import {
  findProviderEvent,
  closeProviderEventIfPending,
  storeProviderEvent,
} from '../../../src/db/events/provider-events.ts'
import { JOB_SCHEMA, PROVIDER_EVENTS_QUEUE } from '../../../src/db/queue/jobs.ts'
import type { ProviderEvent } from '../../../src/domain/events/provider-event.ts'
import { eventAbout } from '../../operations/follow-payment/provider-events.ts'
import { database, store } from '../../support/own-store.ts'

function makeEvent(fields: Partial<ProviderEvent> = {}): ProviderEvent {
  const payment = { tenantId: randomUUID(), id: randomUUID(), providerPaymentId: 'pi_1' }
  return eventAbout(payment, { occurredAt: new Date('2026-01-01T00:00:00Z'), ...fields })
}

/** All columns of the jobs of an event, except the id and the instants. */
async function jobsOf({ id }: ProviderEvent): Promise<Record<string, unknown>[]> {
  const rows = await store.sql<{ job: Record<string, unknown> }[]>`
    select to_jsonb(job) - 'id' - 'created_on' - 'start_after' - 'keep_until' as job
    from atomic_jobs.job where data ->> 'eventId' = ${id}
  `
  return rows.map(({ job }) => job)
}

test.each<[string, Partial<ProviderEvent>]>([
  ['that names a payment', {}],
  ['that names no payment', { subject: null, providerPaymentId: null, objectId: '' }],
])('reads an event %s as it was stored', async (_title, fields) => {
  const event = makeEvent(fields)

  expect(await storeProviderEvent(store.sql, event)).toBe(true)

  const stored = await findProviderEvent(store.sql, event)
  expect(stored).toEqual({ ...event, status: 'pending', ageSeconds: expect.any(Number) })
  expect(stored?.ageSeconds).toBeGreaterThanOrEqual(0)
})

test('stores the same id of another provider as another event', async () => {
  const event = makeEvent()
  await storeProviderEvent(store.sql, event)

  expect(await storeProviderEvent(store.sql, { ...event, provider: 'other' })).toBe(true)
})

test('stores an event once when ten store it concurrently, with one job', async () => {
  const event = makeEvent()

  const stored = await Promise.all(
    Array.from({ length: 10 }, () => storeProviderEvent(store.sql, event)),
  )

  expect(stored.filter(Boolean)).toHaveLength(1)
  expect(await jobsOf(event)).toHaveLength(1)
})

test('inserts the same job as pg-boss, column by column', async () => {
  const event = makeEvent()
  await storeProviderEvent(store.sql, event)
  const [ours] = await jobsOf(event)
  await store.sql`delete from atomic_jobs.job`
  const boss = new PgBoss({
    connectionString: database.url,
    schema: JOB_SCHEMA,
    max: 2,
    migrate: false,
    supervise: false,
    schedule: false,
  })
  await boss.start()
  await boss.send(PROVIDER_EVENTS_QUEUE, {
    provider: event.provider,
    eventId: event.id,
    tenantId: event.subject?.tenantId,
  })
  const [theirs] = await jobsOf(event)
  await boss.stop({ graceful: false })

  expect(ours).toEqual(theirs)
  expect(ours).toMatchObject({ name: PROVIDER_EVENTS_QUEUE, retry_limit: 1_440 })
})

describe('an event with a final status', () => {
  test('keeps its status when it is closed again', async () => {
    const event = makeEvent()
    await storeProviderEvent(store.sql, event)
    await closeProviderEventIfPending(store.sql, event, 'applied')

    await closeProviderEventIfPending(store.sql, event, 'ignored')

    expect(await findProviderEvent(store.sql, event)).toMatchObject({ status: 'applied' })
  })

  test('gets no second job when it is received again', async () => {
    const event = makeEvent()
    await storeProviderEvent(store.sql, event)
    await closeProviderEventIfPending(store.sql, event, 'ignored')
    await store.sql`delete from atomic_jobs.job`

    expect(await storeProviderEvent(store.sql, event)).toBe(false)

    expect(await jobsOf(event)).toEqual([])
  })
})
