// The MCP server over HTTP serves nobody without its token, with another host or from a web page.
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { request as sendRequest, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createClient } from '../../client/index.ts'
import { serveHttp } from '../../mcp/http.ts'
import { readSettings } from '../../mcp/settings.ts'
import { service, tenant } from '../support/shared-service.ts'
import { connectHttp, TOKEN } from './connect.ts'

let server: Server
let port: number

const ENVIRONMENT = { ATOMIC_API_KEY: 'sk_test_x', MCP_TOKEN: TOKEN }

beforeAll(async () => {
  const { http } = readSettings(['--http', '--port', '0'], {
    ...ENVIRONMENT,
    MCP_ALLOWED_HOSTS: 'mcp.example.com',
    MCP_ALLOWED_ORIGINS: 'https://app.example.com',
  }) ?? { http: undefined }
  if (http === undefined) throw new Error('no settings')
  server = await serveHttp(createClient({ baseUrl: service.apiUrl, apiKey: tenant.apiKey }), http)
  ;({ port } = server.address() as AddressInfo)
})

afterAll(() => void server.close())

test('pays and looks up with the client of the SDK', async () => {
  const agent = await connectHttp(`http://127.0.0.1:${port}`)
  const reference = randomUUID()
  const asked = { reference, amount: 1999, currency: 'usd', payment_method: 'pm_card_visa' }
  const answers = await Promise.all([1, 2, 3].map(() => agent.call('pay', asked)))
  const found = await agent.call('look_up', { reference })
  await agent.client.close()

  for (const { payment } of answers) {
    if (payment !== undefined) expect(payment.id).toBe(found.payment?.id)
  }
  expect(found.outcome).toBe('succeeded')
  expect(await service.executedFor({ id: found.payment?.id ?? '' })).toHaveLength(2)
})

interface Sent {
  readonly method?: string
  readonly path?: string
  readonly headers?: Record<string, string>
  readonly body?: string
}

const PING = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })

/** Sends a request with a Host header of its own, which fetch does not allow. */
async function send({ method = 'POST', path = '/mcp', headers = {}, body = PING }: Sent) {
  const request = sendRequest({
    host: '127.0.0.1',
    port,
    method,
    path,
    headers: {
      authorization: `Bearer ${TOKEN}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
  })
  request.on('error', () => {})
  request.end(method === 'POST' ? body : undefined)
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  let text = ''
  for await (const chunk of response) text += String(chunk)
  return { status: response.statusCode, text, headers: response.headers }
}

test.each<[string, number, Sent]>([
  ['with the token', 200, {}],
  ['with the scheme in lower case', 200, { headers: { authorization: `bearer ${TOKEN}` } }],
  ['with two spaces after the scheme', 200, { headers: { authorization: `BEARER  ${TOKEN}` } }],
  ['with another scheme', 401, { headers: { authorization: `Basic ${TOKEN}` } }],
  ['with a token without a scheme', 401, { headers: { authorization: TOKEN } }],
  ['with an allowed host', 200, { headers: { host: 'mcp.example.com' } }],
  ['from an allowed page', 200, { headers: { origin: 'https://app.example.com' } }],
  ['without a token', 401, { headers: { authorization: '' } }],
  ['with another token', 401, { headers: { authorization: `Bearer ${TOKEN}x` } }],
  ['with the host of another site', 403, { headers: { host: 'evil.example' } }],
  ['with a host that only begins well', 403, { headers: { host: '127.0.0.1.evil.example' } }],
  ['from a page of another site', 403, { headers: { origin: 'https://evil.example' } }],
  ['from a local page', 403, { headers: { origin: 'http://127.0.0.1:8080' } }],
  ['from a page without an origin', 403, { headers: { origin: 'null' } }],
  ['with another path', 404, { path: '/' }],
  ['for a stream', 405, { method: 'GET' }],
  ['for the end of a session', 405, { method: 'DELETE' }],
  ['with a body that is too large', 413, { body: `"${'a'.repeat(200_000)}"` }],
  ['without JSON', 400, { body: '{' }],
])('a request %s gets %d', async (_, status, sent) => {
  const answer = await send(sent)

  expect(answer.status).toBe(status)
  expect(answer.text).not.toContain(TOKEN)
  expect(answer.text).not.toContain(tenant.apiKey)
  expect(answer.headers['access-control-allow-origin']).toBeUndefined()
})

test('listens on loopback alone unless told otherwise', () => {
  expect((server.address() as AddressInfo).address).toBe('127.0.0.1')
})

describe('the settings', () => {
  test.each<[string, string[], Record<string, string>]>([
    ['ATOMIC_API_KEY', [], { ATOMIC_API_KEY: '' }],
    ['ATOMIC_API_KEY', [], { ATOMIC_API_KEY: 'two words' }],
    ['ATOMIC_URL', [], { ATOMIC_URL: 'ftp://x' }],
    ['ATOMIC_URL', [], { ATOMIC_URL: 'http://user:secret@x' }],
    ['MCP_TOKEN', ['--http'], { MCP_TOKEN: '' }],
    ['MCP_TOKEN', ['--http'], { MCP_TOKEN: 'short-secret' }],
    ['--port', ['--http', '--port', 'secret'], {}],
    ['unknown argument', ['--api-key', 'sk_secret'], {}],
    ['unknown argument', ['sk_secret'], {}],
  ])('%s is refused without a word of it: %j %j', (name, args, own) => {
    const read = () => readSettings(args, { ...ENVIRONMENT, ...own })

    expect(read).toThrow(name)
    expect(read).not.toThrow(/secret/)
  })

  test('a wrong one ends the command with exit code 2, and nothing on stdout', async () => {
    const process_ = spawn(process.execPath, ['mcp/main.ts', '--http'], {
      env: { PATH: process.env['PATH'], ATOMIC_API_KEY: 'sk_test_x' },
    })
    let [printed, errors] = ['', '']
    process_.stdout.on('data', (chunk) => (printed += String(chunk)))
    process_.stderr.on('data', (chunk) => (errors += String(chunk)))
    const [code] = (await once(process_, 'close')) as [number]

    expect({ code, printed }).toEqual({ code: 2, printed: '' })
    expect(errors).toMatch(/^mcp: MCP_TOKEN/)
  })
})
