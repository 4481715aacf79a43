// Tests the results of a provider event's job: completed, retried, or a dead letter.
import { expect, test } from '@jest/globals'
import { readConfig } from '../../src/config.ts'
import { storeProviderEvent } from '../../src/db/events/provider-events.ts'
import type { ProviderEvent } from '../../src/domain/events/provider-event.ts'
import { workOnProviderEvent } from '../../workers/provider-event-worker.ts'
import { asked } from '../operations/made-payments.ts'
import { eventAbout } from '../operations/follow-payment/provider-events.ts'
import { t } from '../support/own-engine.ts'

const work = (data: unknown) =>
  workOnProviderEvent({ engine: t.engine, settings: readConfig({}) }, { id: 'job', data })

async function stored(fields: Partial<ProviderEvent> = {}): Promise<ProviderEvent> {
  const { paymentId } = await asked(t)
  const payment = await t.readPayment({ tenantId: '', paymentId })
  const event = eventAbout(payment, fields)
  await storeProviderEvent(t.engine.store.sql, event)
  return event
}

test('completes the job of an event that was processed', async () => {
  const { provider, id } = await stored()

  expect(await work({ provider, eventId: id })).toEqual({ id: 'job', status: 'completed' })
  expect(await work({ provider, eventId: id })).toEqual({ id: 'job', status: 'completed' })
})

test('retries the job of an event that cannot be applied yet', async () => {
  const { provider, id, providerPaymentId } = await stored()
  const path = `/payment_intents/${providerPaymentId}/authenticate`
  await t.provider.control('POST', path, { outcome: 'succeed' })

  expect(await work({ provider, eventId: id })).toMatchObject({ id: 'job', status: 'failed' })
})

test('retries the job of a missing event, with a reason', async () => {
  expect(await work({ provider: 'stripe', eventId: 'evt_gone' })).toEqual({
    id: 'job',
    status: 'failed',
    output: { reason: 'there is no event evt_gone' },
  })
})

test.each([[null], [{}], [{ provider: 'stripe' }], ['evt_1']])(
  'a job that names no event is a dead letter: %j',
  async (data) => {
    expect(await work(data)).toMatchObject({ id: 'job', status: 'deadletter' })
  },
)
