// Tests servers that do not behave as PostgreSQL does.
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { afterEach, describe, expect, test } from '@jest/globals'
import { openStore } from '../../../../src/db/connection/client.ts'
import { findFreePort } from '../../../../dev/ports.ts'
import { createTestDatabase } from '../../../support/database.ts'

let server: Server

afterEach(() => {
  server.close()
})

async function listen(accept: (socket: Socket) => void, at = 0): Promise<string> {
  server = createServer((socket) => accept(socket.on('error', () => {})))
  server.listen(at, '127.0.0.1')
  await once(server, 'listening')
  return `postgres://u:p@127.0.0.1:${(server.address() as AddressInfo).port}/db`
}

async function statementOn(url: string): Promise<unknown> {
  const store = openStore({ url, applicationName: 'test', poolSize: 1, timeoutMs: 20_000 })
  try {
    return await store.sql`select 1`
  } finally {
    await store.close()
  }
}

describe('a server that is no PostgreSQL', () => {
  test.each([
    ['answers something else', 'HTTP/1.1 400 Bad Request', 'TLS_FAILED'],
    ['sends more before TLS begins', 'SINJECTED', 'TLS_FAILED'],
    ['never goes on after its answer', 'S', 'CONNECT_TIMEOUT'],
    ['never answers', '', 'CONNECT_TIMEOUT'],
  ])('is refused when it %s', async (_, answer, code) => {
    const url = await listen((socket) => socket.resume().write(answer))

    const connecting = statementOn(`${url}?sslmode=require&connect_timeout=1`)
    await expect(connecting).rejects.toMatchObject({ code })
  })
})

test.each<[string, string, (socket: Socket) => unknown]>([
  ['closes each connection', '', (socket) => socket.end()],
  [
    'refuses TLS and then closes',
    '?sslmode=prefer',
    (socket) => socket.once('data', () => socket.end('N')),
  ],
])('a server that %s is reported, and not asked again at once', async (_, parameters, close) => {
  let connections = 0
  const url = await listen((socket) => {
    connections += 1
    close(socket)
  })

  const connecting = statementOn(url + parameters)
  await expect(connecting).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' })
  expect(connections).toBe(1)
})

test('a server that is back is used at once', async () => {
  const database = await createTestDatabase()
  const { port: serverPort } = new URL(database.url)
  const port = await findFreePort()
  const url = Object.assign(new URL(database.url), { port: String(port) }).href
  const store = openStore({ url, applicationName: 'test', poolSize: 1, timeoutMs: 20_000 })
  const statement = async () => await store.sql`select 1 as one`
  for (let failure = 1; failure <= 3; failure += 1) {
    await expect(statement()).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  }
  const backMs = performance.now()
  await listen((socket) => {
    const upstream = connect(Number(serverPort), '127.0.0.1')
    upstream.on('error', () => {}).pipe(socket)
    socket.pipe(upstream)
  }, port)

  expect(await statement()).toEqual([{ one: 1 }])
  expect(performance.now() - backMs).toBeLessThan(5_000)
  await store.close()
  await database.drop()
})
