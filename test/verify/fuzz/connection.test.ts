import { once } from 'node:events'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { afterEach, expect, test } from '@jest/globals'
import { Connection, NoReplyError, type Reply } from '../../../verify/fuzz/connection.ts'

const servers: Server[] = []

afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.close()
    await once(server, 'close')
  }
})

/** Connects to a server that answers every request with these pieces. */
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

test('parses an answer that arrives byte by byte', async () => {
  const reply = await exchange(await connectTo(ANSWER.split('')))

  expect(reply).toMatchObject({ status: 200, body: '{}' })
  expect((reply as Reply).headers.get('x-a')).toBe('b')
})

test('skips interim answers', async () => {
  const reply = await exchange(await connectTo([`HTTP/1.1 100 Continue\r\n\r\n${ANSWER}`]))

  expect(reply).toMatchObject({ status: 200 })
})

test('does not wait for the body of an answer to HEAD', async () => {
  const reply = await exchange(
    await connectTo(['HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n']),
    'HEAD',
  )

  expect(reply).toMatchObject({ status: 200, body: '' })
})

test.each<[string, string[], RegExp]>([
  ['two answers', [ANSWER + ANSWER], /more than one answer/],
  ['not HTTP', ['nonsense\r\n\r\n'], /not HTTP/],
  ['no content-length', ['HTTP/1.1 200 OK\r\n\r\n{}'], /no content-length/],
  ['half an answer', [ANSWER.slice(0, -1)], /an incomplete one/],
  ['no bytes', [], /no answer/],
])('finds no answer in %s', async (_, pieces, reason) => {
  const result = await exchange(await connectTo(pieces, true))

  expect(result).toBeInstanceOf(NoReplyError)
  expect(result).toMatchObject({ message: expect.stringMatching(reason) })
})
