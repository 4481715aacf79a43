import { once } from 'node:events'
import { createServer } from 'node:net'
import { expect, test } from '@jest/globals'
import { claimPort, findFreePort } from '../../dev/ports.ts'

test('when the port is 0, a free one is claimed', async () => {
  const port = await claimPort({ variable: 'PORT', port: 0, log: () => {} })
  expect(port).toBeGreaterThan(0)
})

test('when a port stays taken, the error names the variable', async () => {
  const port = await findFreePort()
  const owner = createServer().listen(port, '127.0.0.1')
  await once(owner, 'listening')

  await expect(claimPort({ variable: 'PORT', port, waitMs: 0, log: () => {} })).rejects.toThrow(
    `PORT=${port} cannot be used`,
  )

  owner.close()
})

test('when a taken port is let go of, it is claimed', async () => {
  const port = await findFreePort()
  const owner = createServer().listen(port, '127.0.0.1')
  await once(owner, 'listening')

  // The line says that it waits, so the port is let go of while it does.
  const claimed = await claimPort({ variable: 'PORT', port, log: () => owner.close() })

  expect(claimed).toBe(port)
})
