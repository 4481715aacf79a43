// Serves the classic design over HTTP: Redis alone decides, and a POST that executes answers at once. It
// has no authentication, limits or database, so that it shows the cost of Redis and Express alone.
import { randomUUID } from 'node:crypto'
import express, { type Request, type Response } from 'express'
import { createClient } from 'redis'
import { announceReady } from '../../../src/process.ts'
import { executeOnce } from './redis-alone.ts'

const { REDIS_URL = '', PORT = '' } = process.env
const redis = createClient({ url: REDIS_URL })
redis.on('error', () => {})
await redis.connect()

const STATUS = { executed: 202, replayed: 201, in_progress: 409, failed: 503, reused: 422 } as const

const app = express()
app.disable('x-powered-by').disable('etag')
app.post('/v1/payments', express.json(), (request, response) => void serve(request, response))
app.listen(Number(PORT), '127.0.0.1', announceReady)

async function serve(request: Request, response: Response): Promise<void> {
  const { body } = request
  const keyed = {
    tenantId: request.get('authorization') ?? '',
    key: request.get('idempotency-key') ?? '',
    fingerprint: JSON.stringify(body),
  }
  const outcome = await executeOnce(redis, keyed, () =>
    Promise.resolve(JSON.stringify({ ...body, id: randomUUID(), status: 'processing' })),
  )
  response.status(STATUS[outcome.status]).type('json')
  response.send('answer' in outcome ? outcome.answer : '{}')
}
