// Tests that the adapter sends nothing after its time limit, also when its connection is ready only then.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { expect, test } from '@jest/globals'
import { createStripeProvider } from '../../../../src/provider/stripe/stripe-provider.ts'
import { identityOf, paymentOf, SECRET_KEY } from '../adapter-calls.ts'

test('sends nothing after the time limit', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const requested = once(server, 'request').then(() => 'requested')
  const closed = once(server, 'connection').then(async ([socket]) => {
    await once(socket as Socket, 'close')
    return 'closed'
  })
  const resolved = Promise.withResolvers<void>()
  const adapter = createStripeProvider({
    secretKey: SECRET_KEY,
    apiBase: `http://localhost:${(server.address() as AddressInfo).port}`,
    timeoutMs: 100,
    async resolve() {
      await resolved.promise
      return [{ address: '127.0.0.1', family: 4 }]
    },
  })

  const identity = identityOf('started')
  const outcome = await adapter.calls.authorize.execute({ payment: paymentOf() }, identity)
  resolved.resolve()

  expect(outcome).toMatchObject({ outcome: 'not_executed', answered: { error: 'timeout' } })
  expect(await Promise.race([requested, closed])).toBe('closed')
  server.closeAllConnections()
  server.close()
})
