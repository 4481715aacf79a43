import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from '@jest/globals'
import type { Merchant } from '../../../verify/faults/merchant.ts'
import { withRelay } from '../../../verify/faults/event-relay.ts'

/** A merchant whose Stripe stand-in is gone after so many requests. */
function merchantFor(requests: number): Merchant {
  let left = requests
  const control = () =>
    left-- > 0 ? Promise.resolve({}) : Promise.reject(new Error('the stand-in is gone'))
  return { lane: { provider: { control } }, history: { run: 'run' } } as unknown as Merchant
}

const countServers = () =>
  process.getActiveResourcesInfo().filter((what) => what === 'TCPServerWrap').length

test.each([
  ['is gone at the start', 0],
  ['goes away later', 1],
])('leaves no server open when the stand-in %s', async (_, requests) => {
  const before = countServers()
  const relayed = withRelay(merchantFor(requests), [], async () => {})

  await expect(relayed).rejects.toThrow('is gone')

  // Node lists a server for a moment after it has closed.
  for (let looks = 0; looks < 200 && countServers() > before; looks += 1) await wait(5)
  expect(countServers()).toBe(before)
})
