import { describe, expect, test } from '@jest/globals'
import { readCommand, RespReader } from '../verify/redis-proxy.ts'

const VALUES = [
  '*2\r\n$3\r\nGET\r\n$4\r\nname\r\n',
  '+OK\r\n',
  '-ERR no such key\r\n',
  '_\r\n',
  '$-1\r\n',
  '$0\r\n\r\n',
  // A line end inside a text ends nothing.
  '$4\r\n\r\n+O\r\n',
  '%2\r\n+server\r\n$5\r\nredis\r\n+modules\r\n*1\r\n%1\r\n:1\r\n#t\r\n',
  '>2\r\n+invalidate\r\n_\r\n',
]

describe('a stream is split into whole values', () => {
  test.each(VALUES)('%j', (value) => {
    const reader = new RespReader()

    expect(reader.read(Buffer.from(value.slice(0, -1)))).toEqual([])
    expect(reader.read(Buffer.from(value.slice(-1))).map(String)).toEqual([value])
  })

  test('several at once', () => {
    const read = new RespReader().read(Buffer.from(VALUES.join('')))

    expect(read.map(String)).toEqual(VALUES)
  })

  test('byte by byte', () => {
    const reader = new RespReader()
    const read = [...Buffer.from(VALUES.join(''))].flatMap((byte) =>
      reader.read(Buffer.from([byte])),
    )

    expect(read.map(String)).toEqual(VALUES)
  })
})

test('a command is read by its verb and its first argument', () => {
  const command = Buffer.from('*3\r\n$3\r\nSET\r\n$4\r\nname\r\n$4\r\ntext\r\n')

  expect(readCommand(command)).toEqual({ verb: 'set', name: 'name' })
  expect(readCommand(Buffer.from('*1\r\n$4\r\nPING\r\n'))).toEqual({ verb: 'ping', name: '' })
})
