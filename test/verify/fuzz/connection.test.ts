import { once } from 'node:events'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { afterEach, expect, test } from '@jest/globals'
import { Connection, NoReplyError } from '../../../verify/fuzz/connection.ts'

const servers: Server[] = []

afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.close()
    await once(server, 'close')
  }
})

/** Whatever is sent to it, it answers these pieces, one after the other. */
async function connectTo(pieces: readonly string[], ends = false): Promise<Connection> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => {
      for (const piece of pieces) socket.write(piece)
      if (ends) socket.end()
    })
  })
  servers.push(server)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return await Connection.open(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
}

async function exchange(connection: Connection, method = 'GET') {
  try {
    return await connection.exchange(method, Buffer.from('x'))
  } finally {
    connection.close()
  }
}

const ANSWER = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\nx-a:  b \r\n\r\n{}'

test('takes an answer apart, however it is cut into pieces', async () => {
  const reply = await exchange(await connectTo(ANSWER.split('')))

  expect(reply).toMatchObject({ status: 200, body: '{}' })
  expect(reply.headers.get('x-a')).toBe('b')
})

test('passes over interim answers', async () => {
  const reply = await exchange(await connectTo([`HTTP/1.1 100 Continue\r\n\r\n${ANSWER}`]))

  expect(reply.status).toBe(200)
})

test('waits for no body of an answer to HEAD', async () => {
  const reply = await exchange(
    await connectTo(['HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n']),
    'HEAD',
  )

  expect(reply).toMatchObject({ status: 200, body: '' })
})

test.each([
  ['two answers', [ANSWER + ANSWER], /more than one answer/],
  ['no HTTP', ['nonsense\r\n\r\n'], /no answer of HTTP/],
  ['no length', ['HTTP/1.1 200 OK\r\n\r\n{}'], /how long/],
  ['half an answer', [ANSWER.slice(0, -1)], /not all of it/],
  ['nothing', [], /no answer came/],
])('%s is none', async (_, pieces, reason) => {
  const replied = exchange(await connectTo(pieces, true))

  await expect(replied).rejects.toThrow(NoReplyError)
  await expect(replied).rejects.toThrow(reason)
})
