import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import { expect, test } from '@jest/globals'
import { createPlaces } from '../../src/http/limits/concurrency.ts'
import type { ApiLimits } from '../../src/http/endpoint.ts'
import { readBody } from '../../src/http/read-body.ts'

const limits = { places: createPlaces(1, () => 0) } as ApiLimits

test('a body whose client has gone before it was read is over at once', async () => {
  const headers = { headers: {}, headersDistinct: { 'content-type': ['application/json'] } }
  const request = Object.assign(new PassThrough(), headers) as unknown as IncomingMessage
  request.destroy()

  const startedAt = performance.now()
  await expect(readBody({ limits }, request)).rejects.toMatchObject({ type: 'malformed-json' })
  // A body that is waited for is given up after five seconds.
  expect(performance.now() - startedAt).toBeLessThan(4_000)
})
