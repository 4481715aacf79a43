// Serves the limits that Express sets, without authentication, limits or log. One endpoint reads a
// body and answers with a body of a payment's size. The other answers with the result of one
// prepared SELECT of a key.
import express, { type Request, type Response } from 'express'
import postgres from 'postgres'
import { announceReady } from '../../../src/process.ts'

const { DATABASE_URL = '', PORT = '' } = process.env
const sql = postgres(DATABASE_URL, { max: 10 })

const ANSWER = {
  id: 'pay_0191a7c2-6f3e-7cc0-9f5e-1b2d3c4e5f60',
  object: 'payment',
  amount: 1999,
  amount_captured: 0,
  amount_refunded: 0,
  currency: 'usd',
  status: 'processing',
  capture_method: 'automatic',
  payment_method: 'pm_card_visa',
  customer: null,
  description: 'An order of the shop',
  metadata: {},
  failure: null,
  provider: { name: 'stripe', payment_id: null },
  created_at: '2026-01-01T00:00:00.000Z',
}

const app = express()
app.disable('x-powered-by').disable('etag')
app.post('/express', express.json(), (_request, response) => {
  response.status(202).json(ANSWER)
})
app.post('/select', express.json(), answerWithStored)
app.listen(Number(PORT), '127.0.0.1', announceReady)

async function answerWithStored(request: Request, response: Response): Promise<void> {
  const tenant = request.get('tenant') ?? ''
  const key = request.get('idempotency-key') ?? ''
  const [row] = await sql`
    select response_status, response_body from idempotency_keys
    where tenant_id = ${tenant} and key = ${key}
  `
  response.status(row?.['response_status'] ?? 404)
  response.type('json').send(row?.['response_body'])
}
