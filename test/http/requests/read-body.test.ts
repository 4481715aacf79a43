import { EventEmitter } from 'node:events'
import { PassThrough } from 'node:stream'
import { expect, test } from '@jest/globals'
import type { Request, Response } from 'express'
import type { ApiLimits } from '../../../src/http/endpoint.ts'
import { createPlaces } from '../../../src/http/limits/concurrency.ts'
import { readBody } from '../../../src/http/requests/read-body.ts'

/** A request whose body has not arrived. */
const requestOf = () =>
  Object.assign(new PassThrough(), {
    path: '/v1/payments',
    headers: {},
    headersDistinct: { 'content-type': ['application/json'] },
  }) as unknown as Request

const countTimers = () =>
  process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length

test('a body whose client has gone before it was read is over at once', async () => {
  const limits = { places: createPlaces(1, () => 0) } as ApiLimits
  const request = requestOf()
  request.destroy()

  const startedAt = performance.now()
  await expect(readBody({ limits }, request)).rejects.toMatchObject({ type: 'malformed-json' })
  // A body that is waited for is given up after five seconds.
  expect(performance.now() - startedAt).toBeLessThan(4_000)
})

test('a body that has to make room is over at once, and nothing of it is held', async () => {
  const limits = { places: createPlaces(1, () => 0) } as ApiLimits
  const timersBefore = countTimers()
  const read = () => {
    const request = requestOf()
    limits.places.take(request, new EventEmitter() as Response)
    return { request, reading: readBody({ limits }, request) }
  }
  const slow = read()
  const next = read()

  await expect(slow.reading).rejects.toMatchObject({ type: 'overloaded' })
  expect(countTimers()).toBe(timersBefore + 1)
  next.request.destroy(new Error('the client has gone'))
  await expect(next.reading).rejects.toMatchObject({ type: 'malformed-json' })
  expect(countTimers()).toBe(timersBefore)
})
