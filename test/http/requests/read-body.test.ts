// When the reading of a body ends.
import { EventEmitter, once } from 'node:events'
import { PassThrough } from 'node:stream'
import { expect, test } from '@jest/globals'
import type { Request, Response } from 'express'
import type { ApiLimits } from '../../../src/http/endpoint.ts'
import { createSlots } from '../../../src/http/limits/concurrency.ts'
import { readBody } from '../../../src/http/requests/read-body.ts'

/** A request whose body has not arrived. */
const requestOf = (headers = {}) =>
  Object.assign(new PassThrough(), {
    path: '/v1/payments',
    headers,
    headersDistinct: { 'content-type': ['application/json'] },
  }) as unknown as Request

const countTimers = () =>
  process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length

test('a body that has arrived with the headers is taken at once, and the request ends', async () => {
  const limits = { slots: createSlots(1, () => 0) } as ApiLimits
  const timersBefore = countTimers()
  const request = requestOf({ 'content-length': '2' })
  const client = request as unknown as PassThrough
  client.write('{}')

  const reading = readBody({ limits }, request)
  expect(countTimers()).toBe(timersBefore)
  expect(await reading).toEqual(Buffer.from('{}'))
  const ended = once(request, 'end')
  client.end()
  await ended
})

test('a body of which a part has arrived is read to its end', async () => {
  const limits = { slots: createSlots(1, () => 0) } as ApiLimits
  const request = requestOf({ 'content-length': '2' })
  const client = request as unknown as PassThrough
  client.write('{')

  const reading = readBody({ limits }, request)
  client.end('}')

  expect(await reading).toEqual(Buffer.from('{}'))
})

test('reading fails at once when the client disconnected before', async () => {
  const limits = { slots: createSlots(1, () => 0) } as ApiLimits
  const request = requestOf()
  request.destroy()

  const startedAt = performance.now()
  await expect(readBody({ limits }, request)).rejects.toMatchObject({ type: 'malformed-json' })
  // Waiting for a body ends after five seconds.
  expect(performance.now() - startedAt).toBeLessThan(4_000)
})

test('reading fails at once when the place is given to another request, and leaves no timer', async () => {
  const limits = { slots: createSlots(1, () => 0) } as ApiLimits
  const timersBefore = countTimers()
  const read = () => {
    const request = requestOf()
    limits.slots.take(request, new EventEmitter() as Response, true)
    return { request, reading: readBody({ limits }, request) }
  }
  const slow = read()
  const next = read()

  await expect(slow.reading).rejects.toMatchObject({ type: 'overloaded' })
  expect(countTimers()).toBe(timersBefore + 1)
  next.request.destroy(new Error('the client disconnected'))
  await expect(next.reading).rejects.toMatchObject({ type: 'malformed-json' })
  expect(countTimers()).toBe(timersBefore)
})
