import { once } from 'node:events'
import { createServer } from 'node:net'
import { expect, test } from '@jest/globals'
import { claimPort, findFreePort } from '../../dev/ports.ts'

test('claims a port that is released while it waits', async () => {
  const port = await findFreePort()
  const owner = createServer().listen(port, '127.0.0.1')
  await once(owner, 'listening')

  // The log line marks the begin of the wait: the port is released during it.
  const claimed = await claimPort({ variable: 'PORT', port, log: () => owner.close() })

  expect(claimed).toBe(port)
})
