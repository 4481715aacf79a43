// Tests over TLS that a request waits for its connection, and is not sent after its deadline. Node
// would encrypt and send a request that is waiting for the handshake by itself.
import { readFile } from 'node:fs/promises'
import { Agent, createServer, request, type Server } from 'node:https'
import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { before, connectBeforeSending } from '../../src/provider/deadline.ts'
import { TooLateError } from '../../src/provider/never-sent.ts'
import { makeAuthority } from '../support/certificates.ts'
import { makeTemporaryFolder } from '../support/temporary-folder.ts'

let server: Server
let ca: Buffer
let received = 0

beforeAll(async () => {
  const folder = await makeTemporaryFolder()
  const authority = await makeAuthority(folder, 'authority')
  const { certificate, key } = await authority.issue('server', [{ ip: '127.0.0.1' }])
  ca = await readFile(authority.certificate)
  const options = { cert: await readFile(certificate), key: await readFile(key) }
  server = createServer(options, (_request, response) => {
    received += 1
    response.end('{}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
})

beforeEach(() => {
  received = 0
})

afterAll(() => {
  server.closeAllConnections()
  server.close()
})

const agentWith = (options: object) =>
  connectBeforeSending(new Agent({ keepAlive: true, ...options }), 'secureConnect')

async function send(agent: Agent, deadlineMs: number, afterwards = () => {}): Promise<number> {
  const { port } = server.address() as AddressInfo
  return await before(
    { deadlineMs: performance.now() + deadlineMs },
    () =>
      new Promise<number>((resolve, reject) => {
        const sent = request({ host: '127.0.0.1', port, agent, method: 'POST' }, (response) => {
          response.resume()
          response.once('end', () => resolve(response.statusCode ?? 0))
        })
        sent.once('error', reject)
        sent.end('{}')
        afterwards()
      }),
  )
}

test('sends requests in time, on one connection', async () => {
  const agent = agentWith({ ca })

  expect(await send(agent, 10_000)).toBe(200)
  expect(await send(agent, 10_000)).toBe(200)

  expect(received).toBe(2)
  agent.destroy()
})

test('sends nothing if the deadline passes during the handshake', async () => {
  const freeze = () => {
    const endsAt = performance.now() + 300
    while (performance.now() < endsAt);
  }

  const closed = once(server, 'connection').then(([socket]) => once(socket as Socket, 'close'))

  const late = send(agentWith({ ca }), 200, () => void setImmediate(freeze))

  await expect(late).rejects.toThrow(TooLateError)
  await closed
  expect(received).toBe(0)
})

test('reports a server that is not trusted', async () => {
  await expect(send(agentWith({}), 10_000)).rejects.toMatchObject({
    code: expect.stringMatching(/CERT|SIGNATURE|ISSUER/),
  })
})
