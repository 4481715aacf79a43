// Tests from outside that wrong clocks never make an executed hold look as if it had not happened: a
// retry would hold the money a second time.
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { randomUUID } from 'node:crypto'
import { get, paymentBody, postPayment } from '../support/client.ts'
import { startService, type OwnService, type Tenant } from '../support/service.ts'
import { until } from '../support/until.ts'

let service: OwnService
let tenant: Tenant

beforeAll(async () => {
  service = await startService({
    CHECK_DELAYS_SECONDS: '1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,60',
    PROVIDER_SETTLE_SECONDS: '2',
  })
  tenant = await service.createTenant()
})

afterEach(async () => {
  await service.control('DELETE', 'faults')
  await service.control('POST', 'clock', { ahead_seconds: 0 })
})

afterAll(() => service.stop())

/** Makes a payment whose hold fails with an answer that the provider keeps, executed or not. */
async function failHold(key: string, fault: string): Promise<string> {
  const match = { path: '/v1/payment_intents', method: 'POST' }
  await service.control('POST', 'faults', { match, fault })
  const accepted = await postPayment(service.apiUrl, tenant, paymentBody(), {
    key,
    headers: { prefer: 'wait=2' },
  })
  return String(accepted.json['id'])
}

const statusOf = async (id: string) =>
  (await get(service.apiUrl, tenant, `/v1/payments/${id}`)).json['status']

/** What the look-ups of the payment found, as its timeline shows it. */
async function looksOf(id: string): Promise<string[]> {
  const { json } = await get(service.apiUrl, tenant, `/v1/payments/${id}/timeline`)
  const calls = (json['data'] as { provider: unknown }[]).map(({ provider }) =>
    JSON.stringify(provider),
  )
  return calls.filter((call) => call.includes('"kind":"look"'))
}

const holdsOf = async (id: string) =>
  (await service.executedFor({ id })).filter(({ kind }) => kind === 'payment_intent.create').length

const retry = async (key: string) =>
  await postPayment(service.apiUrl, tenant, paymentBody(), { key, headers: { prefer: 'wait=2' } })

const apart = [
  ['ahead', 400],
  ['behind', -400],
] as const

test.each(apart)(
  'a hold of a provider whose clock is 400 s %s is found, and made once',
  async (_title, ahead_seconds) => {
    const key = randomUUID()
    await service.control('POST', 'clock', { ahead_seconds })

    const id = await failHold(key, 'error_500_after')

    await until(async () => {
      await retry(key)
      return (await statusOf(id)) === 'succeeded'
    })
    expect(await holdsOf(id)).toBe(1)
    await service.worker.waitForLine((line) => line.includes('the clocks are apart'))
  },
)

test.each(apart)(
  'absence is not proved by a provider whose clock is 400 s %s, until the clock is corrected',
  async (_title, ahead_seconds) => {
    const key = randomUUID()
    await service.control('POST', 'clock', { ahead_seconds })

    const id = await failHold(key, 'error_500_before')

    const looks = await until(async () => {
      const made = await looksOf(id)
      return made.length >= 4 && made
    })
    expect(looks.at(-1)).toMatch(/are (399|400|401) s apart/)
    expect(await statusOf(id)).toBe('unknown')
    expect((await retry(key)).status).not.toBe(201)
    expect(await holdsOf(id)).toBe(0)

    await service.control('POST', 'clock', { ahead_seconds: 0 })
    await until(async () => (await statusOf(id)) === 'failed')
    expect((await retry(key)).json).toMatchObject({ id, status: 'succeeded' })
    expect(await holdsOf(id)).toBe(1)
  },
)

test('clocks that agree prove that nothing was executed', async () => {
  const id = await failHold(randomUUID(), 'error_500_before')

  await until(async () => (await statusOf(id)) === 'failed')
  expect(await holdsOf(id)).toBe(0)
})
