// Tests that the next attempt waits for as long as the receiver asks with Retry-After.
import { expect, test } from '@jest/globals'
import { get, post } from '../support/client.ts'
import { startReceiver, status } from '../support/receiver.ts'
import { service, tenant } from '../support/shared-service.ts'
import { until } from '../support/until.ts'

const DAY_SECONDS = 86_400
/** The first delay of the schedule. */
const OWN_SECONDS = 5

/** The first delay after an attempt that is answered with this status and header, in seconds. */
async function delayAfter(answered: number, retryAfter?: string): Promise<number> {
  const receiver = await startReceiver()
  receiver.answer = status(answered, retryAfter === undefined ? {} : { 'retry-after': retryAfter })
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

test.each([
  [429, '120', 120],
  [503, '120', 120],
  [429, '0120', 120],
  [503, '99999999999', DAY_SECONDS],
  [503, 'Fri, 31 Dec 9999 23:59:59 GMT', DAY_SECONDS],
])('a %i with Retry-After: %s waits for so long, up to a day', async (answered, value, seconds) => {
  expectAbout(await delayAfter(answered, value), seconds)
})

const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ')
const DAYS = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ')

test.each<[string, (at: Date) => string]>([
  ['IMF-fixdate', (at) => at.toUTCString()],
  [
    'RFC 850',
    (at) => {
      const [, day, month, year, time] = at.toUTCString().split(' ')
      return `${DAYS[at.getUTCDay()]}, ${day}-${month}-${year?.slice(2)} ${time} GMT`
    },
  ],
  [
    'asctime',
    (at) => {
      const [weekday = '', , , year, time] = at.toUTCString().split(' ')
      const day = String(at.getUTCDate()).padStart(2)
      return `${weekday.slice(0, 3)} ${MONTHS[at.getUTCMonth()]} ${day} ${time} ${year}`
    },
  ],
])('a date in the form %s is understood', async (_form, show) => {
  const value = show(new Date(Date.now() + 600_000))

  // The date has no milliseconds, and the attempt begins later.
  expectAbout(await delayAfter(503, value), 600, 590)
})

test.each([
  ['that asks for less', 503, '1'],
  ['whose date has passed', 503, 'Sun, 06 Nov 1994 08:49:37 GMT'],
  ['that is negative', 429, '-120'],
  ['that is a fraction', 429, '120.5'],
  ['that is a word', 503, 'tomorrow'],
  ['that is a date of another kind', 503, '2099-01-01T00:00:00Z'],
  ['that is an impossible date', 503, 'Fri, 45 Foo 2099 99:99:99 GMT'],
  ['of a 500', 500, '120'],
  ['of a redirect', 302, '120'],
])('a Retry-After %s changes nothing', async (_what, answered, value) => {
  expectAbout(await delayAfter(answered, value), OWN_SECONDS, OWN_SECONDS * 0.9)
})
