import { randomUUID } from 'node:crypto'
import { connect } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { problems, type ProblemType } from '../../src/domain/problems.ts'
import { get, paymentBody, postPayment, read, type ApiResponse } from '../support/client.ts'
import { fetchApi } from '../support/documented.ts'
import { startService, type Service, type Tenant } from '../support/service.ts'

let service: Service
let tenant: Tenant

beforeAll(async () => {
  service = await startService()
  tenant = await service.createTenant()
})

afterAll(() => service.stop())

/** Whatever was refused has left no row and caused no provider call. */
afterEach(async () => {
  const [rows] = await service.store.sql<{ count: number }[]>`
    select (select count(*) from payments)::int + (select count(*) from idempotency_keys)::int
      + (select count(*) from phase_runs)::int + (select count(*) from pgboss.job)::int as count
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
  test.each<[string, string, ProblemType]>([
    ['empty', '', 'idempotency-key-empty'],
    ['empty in quotes', '""', 'idempotency-key-empty'],
    ['256 characters long', 'k'.repeat(256), 'idempotency-key-too-long'],
    ['not ASCII', 'clé', 'idempotency-key-malformed'],
    ['with a space', 'two words', 'idempotency-key-malformed'],
    ['in quotes that do not end', '"abc', 'idempotency-key-malformed'],
    ['a card number', '4242424242424242', 'card-number-refused'],
    ['a card number with dashes', 'order-4242-4242-4242-4242', 'card-number-refused'],
  ])('is refused when it is %s', async (_case, key, type) => {
    expectProblem(await postPayment(service.apiUrl, tenant, paymentBody(), { key }), type)
  })

  test('is refused when it is missing', async () => {
    const answer = await rawPayment({ authorization: `Bearer ${tenant.apiKey}` })
    expectProblem(answer, 'idempotency-key-missing')
  })

  test('is refused when it is repeated', async () => {
    const key = randomUUID()
    const answer = await rawPayment({
      authorization: `Bearer ${tenant.apiKey}`,
      'idempotency-key': [key, key],
    })
    expectProblem(answer, 'idempotency-key-repeated')
  })
})

describe('the API key', () => {
  test.each<[string, Record<string, string>, ProblemType]>([
    ['missing', {}, 'api-key-missing'],
    ['malformed', { authorization: 'Bearer nonsense' }, 'api-key-invalid'],
    ['unknown', { authorization: `Bearer sk_test_${'0'.repeat(32)}` }, 'api-key-invalid'],
    ['of another scheme', { authorization: 'Basic c2tfOg==' }, 'api-key-invalid'],
    ['empty', { authorization: 'Bearer ' }, 'api-key-invalid'],
  ])('is answered 401 with a challenge when it is %s', async (_case, headers, type) => {
    const answer = await rawPayment({ 'idempotency-key': randomUUID(), ...headers })
    expectProblem(answer, type)
    expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="atomic-payments"')
  })

  test('is answered with the same bytes whether it is malformed or unknown', async () => {
    const malformed = await rawPayment({ authorization: 'Bearer nonsense' })
    const unknown = await rawPayment({ authorization: `Bearer sk_test_${'0'.repeat(32)}` })
    expect(malformed.text).toBe(unknown.text)
  })
})

describe('the body', () => {
  const nested = (levels: number) =>
    `{"amount":1999,"currency":"usd","payment_method":"pm_card_visa","metadata":${'['.repeat(levels)}${']'.repeat(levels)}}`

  test.each<[string, string, ProblemType]>([
    ['not JSON', '{"amount":', 'malformed-json'],
    ['empty', '', 'malformed-json'],
    ['an array', '[]', 'malformed-json'],
    ['with a repeated member', '{"amount":1,"amount":2}', 'duplicate-member'],
    ['with a member repeated by an escape', '{"amount":1,"\\u0061mount":2}', 'duplicate-member'],
    ['nested beyond 20 levels', nested(20), 'nesting-too-deep'],
    ['with NUL', '{"description":"a\\u0000b"}', 'forbidden-character'],
    ['with a lone surrogate', '{"description":"\\ud800"}', 'forbidden-character'],
  ])('is refused when it is %s', async (_case, body, type) => {
    expectProblem(await postPayment(service.apiUrl, tenant, body), type)
  })

  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/json; charset=latin1',
  ])('is refused as %s', async (type) => {
    const headers = { 'content-type': type }
    const answer = await postPayment(service.apiUrl, tenant, paymentBody(), { headers })
    expectProblem(answer, 'unsupported-content-type')
  })

  test('is refused when it is compressed', async () => {
    const headers = { 'content-encoding': 'gzip' }
    const answer = await postPayment(service.apiUrl, tenant, paymentBody(), { headers })
    expectProblem(answer, 'unsupported-content-encoding')
  })

  test('is refused beyond 64 KiB', async () => {
    const body = paymentBody({ description: 'x'.repeat(64 * 1024) })
    expectProblem(await postPayment(service.apiUrl, tenant, body), 'body-too-large')
  })

  test('is refused beyond 64 KiB before it has all been sent, and the connection is closed', async () => {
    const answers = await Promise.all([
      rawPost({ 'content-length': '99999999999' }, '{'),
      rawPost({ 'transfer-encoding': 'chunked' }, `20000\r\n${' '.repeat(0x20000)}\r\n`),
    ])
    for (const answer of answers) {
      expectProblem(answer, 'body-too-large')
      expect(answer.headers.get('connection')).toBe('close')
    }
  })

  test.each<[string, string, ProblemType]>([
    ['an unknown field', '{"amount":1,"color":"red"}', 'unknown-field'],
    ['__proto__', '{"__proto__":{"amount":1}}', 'unknown-field'],
    ['tenant_id', '{"tenant_id":"x"}', 'unknown-field'],
    ['status', '{"status":"succeeded"}', 'unknown-field'],
    ['nothing', '{}', 'invalid-field'],
  ])('is refused when it holds %s', async (_case, body, type) => {
    expectProblem(await postPayment(service.apiUrl, tenant, body), type)
  })

  test.each(['10.5', '10.00', '1e3', '"100"', '0', '-1', '100000000', '9007199254740993', 'null'])(
    'is refused with the amount %s',
    async (amount) => {
      const body = `{"amount":${amount},"currency":"usd","payment_method":"pm_card_visa"}`
      expectProblem(await postPayment(service.apiUrl, tenant, body), 'invalid-amount')
    },
  )

  test.each(['USD', 'xxx', 'us', ''])('is refused with the currency "%s"', async (currency) => {
    const answer = await postPayment(service.apiUrl, tenant, paymentBody({ currency }))
    expectProblem(answer, 'unknown-currency')
  })

  test.each<[string, Record<string, unknown>]>([
    ['payment_method', { payment_method: '4242424242424242' }],
    ['description', { description: 'card 4242 4242 4242 4242, thanks' }],
    ['metadata', { metadata: { card: '4000-0566-5566-5556' } }],
    ['a name in metadata', { metadata: { '378282246310005': 'x' } }],
    ['a number', { amount: 4242424242424242 }],
    ['a field that is unknown', { card: { number: '5555555555554444' } }],
  ])('is refused with a card number in %s, which is not echoed', async (_case, fields) => {
    const answer = await postPayment(service.apiUrl, tenant, paymentBody(fields))
    expectProblem(answer, 'card-number-refused')
    expect(answer.text).not.toMatch(/\d{4}[ -]?\d{4}[ -]?\d{4}/)
  })
})

describe('the route', () => {
  test.each(['PUT', 'DELETE', 'PATCH'])('is answered 405 with Allow for %s', async (method) => {
    const answer = await read(await fetchApi(`${service.apiUrl}/v1/payments`, { method }))
    expectProblem(answer, 'method-not-allowed')
    expect(answer.headers.get('allow')).toBe('GET, HEAD, POST')
  })

  test.each(['/v1/nothing', '/', '/v1/payments/', '/V1/payments', '/v1/payments/%E0%A4%A'])(
    'is answered 404 when it is %s',
    async (path) => {
      expectProblem(await get(service.apiUrl, tenant, path), 'route-not-found')
    },
  )

  test.each([
    'limit=0',
    'limit=101',
    'limit=x',
    'page=2',
    'starting_after=pay_1',
    'limit=1&limit=2',
  ])('is answered 400 with the query %s', async (query) => {
    expectProblem(await get(service.apiUrl, tenant, `/v1/payments?${query}`), 'invalid-query')
  })
})

test('no card number has reached a log', () => {
  for (const line of [...service.api.lines, ...service.worker.lines]) {
    expect(line).not.toMatch(/4242[ -]?4242|4000[ -]?0566|3782 ?822463|5555555555554444/)
  }
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

/** A payment with these headers, and only these. */
function rawPayment(headers: Record<string, string | string[]>): Promise<ApiResponse> {
  const body = JSON.stringify(paymentBody())
  const length = String(Buffer.byteLength(body))
  return rawRequest({ ...headers, connection: 'close', 'content-length': length }, body)
}

/** An authorized request whose body is not what it says, or does not end. */
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
