// Tests which events of the provider are deleted after their retention, with the rights of a worker.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Sql, Store } from '../../src/db/connection/client.ts'
import { storeProviderEvent } from '../../src/db/events/provider-events.ts'
import { deleteOldProviderEvents } from '../../src/recovery/prune.ts'
import type { ProviderEvent } from '../../src/domain/events/provider-event.ts'
import { applyProviderEvent } from '../../src/operations/apply-provider-event.ts'
import { captured, held } from '../operations/made-payments.ts'
import { explain, rowsRead } from '../support/explain.ts'
import type { PaymentRef } from '../support/engine.ts'
import { t } from '../support/own-engine.ts'
import { openServiceStore } from '../support/service-store.ts'

let service: Store
let sql: Sql

beforeAll(() => {
  ;({ sql } = t.engine.store)
  service = openServiceStore(t.databaseUrl)
})
beforeEach(() => sql`truncate provider_events`)
afterAll(() => service.close())

const DAY_MS = 24 * 60 * 60 * 1_000
const before = () => new Date(Date.now() - 90 * DAY_MS)
const remove = (limit = 100) => deleteOldProviderEvents(service.sql, { before: before(), limit })

const event = (id: string, subject: PaymentRef | null): ProviderEvent => ({
  provider: 'stripe',
  id,
  type: 'payment_intent.succeeded',
  about: 'payment',
  objectId: 'pi_1',
  providerPaymentId: 'pi_1',
  subject,
  occurredAt: new Date(),
})

async function stored(id: string, subject: PaymentRef | null, status = 'ignored', days = 91) {
  await storeProviderEvent(sql, event(id, subject))
  await sql`
    update provider_events set status = ${status},
      settled_at = case when ${status} <> 'pending' then now() - ${days} * interval '1 day' end,
      received_at = now() - ${days} * interval '1 day'
    where id = ${id}
  `
}

async function kept(): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`select id from provider_events order by id`
  return rows.map(({ id }) => id)
}

describe('after their retention', () => {
  test.each(['applied', 'ignored', 'unmatched'])('deletes %s events', async (status) => {
    const payment = await captured(t)
    await stored('evt_old', payment, status)
    await stored('evt_unknown', null, status)
    await stored('evt_young', payment, status, 89)

    expect(await remove()).toBe(2)
    expect(await kept()).toEqual(['evt_young'])
  })

  test.each([
    ['events that wait', captured, 'pending', 'charge.updated'],
    ['the events of a payment that is not final', held, 'ignored', 'charge.updated'],
    ['the record that a fraud warning was announced', captured, 'applied', 'warning'],
  ])('keeps %s', async (_, make, status, type) => {
    await stored('evt_1', await make(t), status, 400)
    await sql`update provider_events set type = ${type}`

    expect(await remove()).toBe(0)
    expect(await kept()).toEqual(['evt_1'])
  })

  test('deletes a batch at a time, the oldest first, and several workers each event once', async () => {
    const payment = await captured(t)
    for (const days of [95, 93, 94, 92, 91]) await stored(`evt_${days}`, payment, 'ignored', days)

    expect(await remove(1)).toBe(1)
    expect(await kept()).not.toContain('evt_95')
    const counts = await Promise.all([remove(3), remove(3), remove(3)])
    await remove()

    expect(counts.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(4)
    expect(await kept()).toEqual([])
  })
})

test('an event that comes again after its deletion changes nothing', async () => {
  const ref = await captured(t)
  const payment = await t.readPayment(ref)
  const again: ProviderEvent = {
    ...event('evt_again', ref),
    providerPaymentId: payment.providerPaymentId,
  }
  await storeProviderEvent(sql, again)
  expect(await applyProviderEvent(t.engine, again)).toBe('ignored')
  await sql`update provider_events set settled_at = now() - interval '91 days'`
  expect(await remove()).toBe(1)

  expect(await storeProviderEvent(sql, again)).toBe(true)

  expect(await applyProviderEvent(t.engine, again)).toBe('ignored')
  expect(await t.readPayment(ref)).toEqual(payment)
})

test('reads only the old events of 20,000', async () => {
  await sql`
    insert into provider_events (provider, id, type, object_id, status, occurred_at, settled_at)
    select 'stripe', 'evt_' || n, 'charge.updated', 'ch_1', 'ignored', now(),
      now() - n * interval '395 seconds'
    from generate_series(1, 20000) as n
  `
  await sql`analyze provider_events`

  const nodes = await explain(sql, /settled_at::text/, (explaining) =>
    deleteOldProviderEvents(explaining, { before: before(), limit: 250 }),
  )

  expect(nodes.map((node) => node['Index Name'])).toContain('provider_events_settled')
  expect(rowsRead(nodes, 'provider_events')).toBeLessThan(1_000)
})
