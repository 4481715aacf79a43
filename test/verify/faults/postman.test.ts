import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from '@jest/globals'
import type { Lane } from '../../../verify/faults/lane.ts'
import { Postman } from '../../../verify/faults/postman.ts'

/** A lane whose provider has gone after so many requests. */
function laneFor(requests: number): Lane {
  let left = requests
  const control = () =>
    left-- > 0 ? Promise.resolve({}) : Promise.reject(new Error('the mock provider has gone'))
  return { provider: { control } } as unknown as Lane
}

const countServers = () =>
  process.getActiveResourcesInfo().filter((what) => what === 'TCPServerWrap').length

test.each([
  ['that cannot be told of it', 0],
  ['that has gone since', 1],
])('a provider %s leaves no server open', async (_, requests) => {
  const before = countServers()
  const open = Postman.open({ lane: laneFor(requests), run: 'run' })

  await expect(open.then((postman) => postman.close())).rejects.toThrow('has gone')

  // Node lists a server for a moment after it has closed.
  for (let looks = 0; looks < 200 && countServers() > before; looks += 1) await wait(5)
  expect(countServers()).toBe(before)
})
