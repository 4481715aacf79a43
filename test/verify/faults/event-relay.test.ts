import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from '@jest/globals'
import type { Lane } from '../../../verify/faults/lane.ts'
import { EventRelay } from '../../../verify/faults/event-relay.ts'

/** A lane whose Stripe stand-in is gone after so many requests. */
function laneFor(requests: number): Lane {
  let left = requests
  const control = () =>
    left-- > 0 ? Promise.resolve({}) : Promise.reject(new Error('the stand-in is gone'))
  return { provider: { control } } as unknown as Lane
}

const countServers = () =>
  process.getActiveResourcesInfo().filter((what) => what === 'TCPServerWrap').length

test.each([
  ['is gone at the start', 0],
  ['goes away later', 1],
])('leaves no server open when the stand-in %s', async (_, requests) => {
  const before = countServers()
  const open = EventRelay.open({ lane: laneFor(requests), run: 'run' })

  await expect(open.then((relay) => relay.close())).rejects.toThrow('is gone')

  // Node lists a server for a moment after it has closed.
  for (let looks = 0; looks < 200 && countServers() > before; looks += 1) await wait(5)
  expect(countServers()).toBe(before)
})
