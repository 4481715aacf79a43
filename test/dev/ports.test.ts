import { once } from 'node:events'
import { createServer } from 'node:net'
import { expect, test } from '@jest/globals'
import { claimPort, findFreePort } from '../../dev/ports.ts'

test('claims a free port for 0', async () => {
  const port = await claimPort({ variable: 'PORT', port: 0, log: () => {} })
  expect(port).toBeGreaterThan(0)
})

test('names the variable when the port stays in use', async () => {
  const port = await findFreePort()
  const owner = createServer().listen(port, '127.0.0.1')
  await once(owner, 'listening')

  await expect(claimPort({ variable: 'PORT', port, waitMs: 0, log: () => {} })).rejects.toThrow(
    `PORT=${port} cannot be used`,
  )

  owner.close()
})

test('claims a port that is released while it waits', async () => {
  const port = await findFreePort()
  const owner = createServer().listen(port, '127.0.0.1')
  await once(owner, 'listening')

  // The log line marks the begin of the wait: the port is released during it.
  const claimed = await claimPort({ variable: 'PORT', port, log: () => owner.close() })

  expect(claimed).toBe(port)
})
