// Properties of the answers to invalid requests. The corpus of `verify/fuzz` checks which problem
// each invalid request gets.
import { randomUUID } from 'node:crypto'
import { connect } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { problems, type ProblemType } from '../../../src/domain/problems/problems.ts'
import { paymentBody, read, type ApiResponse } from '../../support/client.ts'
import { fetchApi } from '../../support/documented.ts'
import { startService, type Service, type Tenant } from '../../support/service.ts'

let service: Service
let tenant: Tenant

beforeAll(async () => {
  service = await startService()
  tenant = await service.createTenant()
})

afterAll(() => service.stop())

/** A refused request leaves no row and causes no provider call. */
afterEach(async () => {
  const [rows] = await service.store.sql<{ count: number }[]>`
    select (select count(*) from payments)::int + (select count(*) from idempotency_keys)::int
      + (select count(*) from phase_runs)::int + (select count(*) from atomic_jobs.job)::int as count
  `
  expect(rows?.count).toBe(0)
  expect(await service.control('GET', 'executed')).toEqual({ data: [] })
})

function expectProblem(answer: ApiResponse, type: ProblemType): void {
  expect(answer.json).toMatchObject({
    type: `/problems/${type}`,
    title: problems[type].title,
    status: problems[type].status,
    error: { type: problems[type].stripeType, message: expect.any(String) },
  })
  expect(answer.status).toBe(problems[type].status)
  expect(answer.headers.get('content-type')).toBe('application/problem+json; charset=utf-8')
}

describe('the Idempotency-Key', () => {
  test('is refused when it is missing', async () => {
    const answer = await rawPayment({ authorization: `Bearer ${tenant.apiKey}` })
    expectProblem(answer, 'idempotency-key-missing')
  })
})

describe('the API key', () => {
  test.each<[string, Record<string, string>, ProblemType]>([
    ['missing', {}, 'api-key-missing'],
    ['malformed', { authorization: 'Bearer nonsense' }, 'api-key-invalid'],
    ['unknown', { authorization: `Bearer sk_test_${'0'.repeat(32)}` }, 'api-key-invalid'],
    ['of another scheme', { authorization: 'Basic c2tfOg==' }, 'api-key-invalid'],
    ['empty', { authorization: 'Bearer ' }, 'api-key-invalid'],
  ])('gets 401 with a challenge when it is %s', async (_case, headers, type) => {
    const answer = await rawPayment({ 'idempotency-key': randomUUID(), ...headers })
    expectProblem(answer, type)
    expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="atomic-payments"')
  })

  test('gets the same bytes whether it is malformed or unknown', async () => {
    const malformed = await rawPayment({ authorization: 'Bearer nonsense' })
    const unknown = await rawPayment({ authorization: `Bearer sk_test_${'0'.repeat(32)}` })
    expect(malformed.text).toBe(unknown.text)
  })
})

describe('the body', () => {
  test('is refused beyond 64 KiB before all of it has arrived, and the connection is closed', async () => {
    const answers = await Promise.all([
      rawPost({ 'content-length': '99999999999' }, '{'),
      rawPost({ 'transfer-encoding': 'chunked' }, `20000\r\n${' '.repeat(0x20000)}\r\n`),
    ])
    for (const answer of answers) {
      expectProblem(answer, 'body-too-large')
      expect(answer.headers.get('connection')).toBe('close')
    }
  })
})

describe('the route', () => {
  test.each(['PUT', 'DELETE', 'PATCH'])('returns 405 with Allow for %s', async (method) => {
    const answer = await read(await fetchApi(`${service.apiUrl}/v1/payments`, { method }))
    expectProblem(answer, 'method-not-allowed')
    expect(answer.headers.get('allow')).toBe('GET, HEAD, POST')
  })
})

/** A request with exactly these header lines, which `fetch` would join, complete or refuse. */
async function rawRequest(
  headers: Record<string, string | string[]>,
  body: string,
): Promise<ApiResponse> {
  const lines = Object.entries(headers).flatMap(([name, values]) =>
    [values].flat().map((value) => `${name}: ${value}`),
  )
  const head = ['POST /v1/payments HTTP/1.1', 'host: test', 'content-type: application/json']
  const socket = connect(Number(new URL(service.apiUrl).port), '127.0.0.1')
  socket.on('error', () => {})
  socket.write([...head, ...lines, '', body].join('\r\n'))
  const chunks: Buffer[] = []
  for await (const chunk of socket) chunks.push(chunk as Buffer)
  return parseAnswer(Buffer.concat(chunks).toString())
}

/** A payment with only these headers. */
function rawPayment(headers: Record<string, string | string[]>): Promise<ApiResponse> {
  const body = JSON.stringify(paymentBody())
  const length = String(Buffer.byteLength(body))
  return rawRequest({ ...headers, connection: 'close', 'content-length': length }, body)
}

/** An authorized request with exactly this body, which may not match its headers or may not end. */
function rawPost(headers: Record<string, string>, body: string): Promise<ApiResponse> {
  const authorization = `Bearer ${tenant.apiKey}`
  return rawRequest({ authorization, 'idempotency-key': randomUUID(), ...headers }, body)
}

function parseAnswer(text: string): ApiResponse {
  const [head = '', body = ''] = text.split('\r\n\r\n')
  const [statusLine = '', ...lines] = head.split('\r\n')
  const headers = new Headers(
    lines.map((line) => line.split(/: (.*)/).slice(0, 2) as [string, string]),
  )
  const json = JSON.parse(body) as Record<string, unknown>
  return { status: Number(statusLine.split(' ')[1]), headers, text: body, json }
}
