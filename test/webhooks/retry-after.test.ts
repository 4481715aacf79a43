// Tests that the next attempt waits for as long as the receiver asks with Retry-After.
import { expect, test } from '@jest/globals'
import { get, post } from '../support/client.ts'
import { startReceiver, status } from '../support/receiver.ts'
import { service, tenant } from '../support/shared-service.ts'
import { until } from '../support/until.ts'

/** The first delay of the schedule. */
const OWN_SECONDS = 5

/** The first delay after an attempt that is answered with this status and header, in seconds. */
async function delayAfter(answered: number, retryAfter: string): Promise<number> {
  const receiver = await startReceiver()
  receiver.answer = status(answered, { 'retry-after': retryAfter })
  try {
    const path = '/v1/webhook-endpoints'
    const endpoint = await post(service.apiUrl, tenant, path, { url: receiver.url })
    const ownPath = endpoint.headers.get('location') ?? ''
    const tested = await post(service.apiUrl, tenant, `${ownPath}/test`)
    return await until(async () => {
      const { json } = await get(service.apiUrl, tenant, tested.headers.get('location') ?? '')
      const [attempt] = json['attempts'] as { started_at: string }[]
      if (attempt === undefined) return undefined
      await post(service.apiUrl, tenant, ownPath, { disabled: true })
      return (Date.parse(String(json['next_attempt_at'])) - Date.parse(attempt.started_at)) / 1_000
    })
  } finally {
    await receiver.stop()
  }
}

/** A jitter of a tenth, and the time that the attempt takes. */
function expectAbout(delay: number, seconds: number, least = seconds): void {
  expect(delay).toBeGreaterThanOrEqual(least)
  expect(delay).toBeLessThan(seconds * 1.1 + 4)
}

test('an attempt waits for as long as a 503 asks', async () => {
  expectAbout(await delayAfter(503, '120'), 120)
})

// Which values and statuses count: test/domain/webhooks/webhook-delivery.test.ts and send-webhook.test.ts.
test('a Retry-After of a 500 changes nothing', async () => {
  expectAbout(await delayAfter(500, '120'), OWN_SECONDS, OWN_SECONDS * 0.9)
})
