// Which traceparent headers name a criteria.
import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { expect, test } from '@jest/globals'
import { traceIdOf } from '../../../src/http/server/app.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'

function criteriaOf(...lines: string[]): string | undefined {
  const request = new IncomingMessage(new Socket())
  Object.defineProperty(request, 'headersDistinct', {
    value: lines.length === 0 ? {} : { traceparent: lines },
  })
  return traceIdOf(request)
}

test.each([
  ['of this version', `00-${TRACE}-${SPAN}-01`],
  ['of a later version with more fields', `cc-${TRACE}-${SPAN}-01-more`],
])('reads the criteria id of a traceparent %s', (_what, line) => {
  expect(criteriaOf(line)).toBe(TRACE)
})

test.each([
  ['no traceparent', []],
  ['an empty traceparent', ['']],
  ['two traceparents', [`00-${TRACE}-${SPAN}-01`, `00-${TRACE}-${SPAN}-01`]],
  ['a forbidden version', [`ff-${TRACE}-${SPAN}-01`]],
  ['upper case', [`00-${TRACE.toUpperCase()}-${SPAN}-01`]],
  ['no criteria', [`00-${'0'.repeat(32)}-${SPAN}-01`]],
  ['no parent', [`00-${TRACE}-${'0'.repeat(16)}-01`]],
  ['another value', ['sk_test_1234567890']],
  ['more fields in version 00', [`00-${TRACE}-${SPAN}-01-more`]],
  ['a card number', [`00-4242424242424242a1b2c3d4e5f60718-${SPAN}-01`]],
  ['a card number inside random digits', [`00-a1b2c3d44242424242424242e5f60718-${SPAN}-01`]],
  ['a card number inside a longer number', [`00-00004242424242424242000000000000-${SPAN}-01`]],
])('reads no criteria id from %s', (_what, lines) => {
  expect(criteriaOf(...lines)).toBeUndefined()
})
