import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { startReceiver, type Receiver } from '../../../bench/neighbours/receiver.ts'

let receiver: Receiver

beforeEach(async () => {
  receiver = await startReceiver()
})
afterEach(() => receiver.stop())

const deliver = (url: string, type: string, id: string) =>
  fetch(url, { method: 'POST', body: JSON.stringify({ type, data: { object: { id } } }) })

test('tells when the success of a payment arrives, whichever is first', async () => {
  const early = receiver.untilSucceeded('pay_1')

  await deliver(receiver.url, 'payment.created', 'pay_1')
  const beforeMs = performance.now()
  const { status } = await deliver(receiver.url, 'payment.succeeded', 'pay_1')
  await deliver(receiver.url, 'payment.succeeded', 'pay_2')

  expect(status).toBe(204)
  expect(await early).toBeGreaterThanOrEqual(beforeMs)
  expect(await receiver.untilSucceeded('pay_2')).toBeGreaterThan(await early)
})

test('lets requests hang until they are released', async () => {
  const hanging = [1, 2].map((number) =>
    deliver(receiver.hangingUrl(number), 'payment.created', 'pay_1').then(
      () => 'answered',
      () => 'closed',
    ),
  )
  await receiver.untilHanging(2)

  receiver.release()

  expect(await Promise.all(hanging)).toEqual(['closed', 'closed'])
})
