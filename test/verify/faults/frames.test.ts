import { expect, test } from '@jest/globals'
import {
  errorResponse,
  FrameReader,
  nameOf,
  readTexts,
  readyForQuery,
} from '../../../verify/faults/frames.ts'

const startup = Buffer.concat([
  Buffer.from([0, 0, 0, 22, 0, 3, 0, 0]),
  Buffer.from('user\0postgres\0'),
])
const query = Buffer.concat([
  Buffer.from('Q'),
  Buffer.from([0, 0, 0, 13]),
  Buffer.from('select 1\0'),
])
const sync = Buffer.concat([Buffer.from('S'), Buffer.from([0, 0, 0, 4])])

test('splits a stream into its messages wherever its chunks end', () => {
  const bytes = Buffer.concat([startup, query, sync])
  for (let size = 1; size <= bytes.length; size += 1) {
    const reader = new FrameReader('frontend')
    const frames = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
      reader.read(bytes.subarray(index * size, (index + 1) * size)),
    ).flat()

    expect(frames.map((frame) => nameOf('frontend', frame))).toEqual([undefined, 'Query', 'Sync'])
    expect(Buffer.concat(frames.map((frame) => frame.bytes))).toEqual(bytes)
  }
})

test('reads the texts of a message', () => {
  const [opening, asked] = new FrameReader('frontend').read(Buffer.concat([startup, query]))

  expect(asked && readTexts(asked, 1)).toEqual(['select 1'])
  expect(opening?.type).toBe('')
})

test('reads back the messages that the proxy writes', () => {
  const said = Buffer.concat([errorResponse('ERROR', '40001'), readyForQuery('I')])
  const frames = new FrameReader('backend').read(said)

  expect(frames.map((frame) => nameOf('backend', frame))).toEqual([
    'ErrorResponse',
    'ReadyForQuery',
  ])
  expect(frames[0]?.bytes.toString('utf8')).toContain('C40001\0')
})
