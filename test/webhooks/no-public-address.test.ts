// Tests that a tenant cannot learn from its webhooks which names exist in the network of the service, and
// which addresses behind a name are dialled.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { expectProblem } from '../http/payments.ts'
import { get, post, type ApiResponse } from '../support/client.ts'
import { startNameServer, type NameServer } from '../support/name-server.ts'
import { startService, type OwnService, type Tenant } from '../support/service.ts'
import { until } from '../support/until.ts'

let names: NameServer
let service: OwnService
let tenant: Tenant

beforeAll(async () => {
  names = await startNameServer()
  service = await startService({
    DNS_SERVERS: names.address,
    DNS_TIMEOUT_MS: '500',
    WEBHOOK_TIMEOUT_MS: '1500',
  })
  tenant = await service.createTenant()
})
afterAll(async () => {
  await service.stop()
  await names.stop()
})

const register = (url: string): Promise<ApiResponse> =>
  post(service.apiUrl, tenant, '/v1/webhook-endpoints', { url })

interface Attempt {
  readonly started_at: string
  readonly latency_ms: number
  readonly error: string
}

/** Sends a test event, and returns the path of its delivery with the first attempt. */
async function attempt(url: string): Promise<{ path: string; attempt: Attempt }> {
  const endpoint = await register(url)
  const own = endpoint.headers.get('location') ?? ''
  const tested = await post(service.apiUrl, tenant, `${own}/test`)
  const path = tested.headers.get('location') ?? ''
  const made = await until(async () => (await attemptsOf(path))[0])
  await post(service.apiUrl, tenant, own, { disabled: true })
  return { path, attempt: made }
}

async function attemptsOf(path: string): Promise<Attempt[]> {
  return (await get(service.apiUrl, tenant, path)).json['attempts'] as Attempt[]
}

const nowhere = { http_status: null, error: 'no_public_address', latency_ms: 0 }

// Which addresses are refused: test/domain/webhooks/dialable-address.test.ts.
test.each<[string, readonly string[]]>([
  ['does-not-exist', []],
  ['private', ['10.0.0.1']],
  ['public-and-private', ['93.184.215.14', '10.0.0.1']],
])('a name that is %s cannot be told from one without an address', async (name, addresses) => {
  if (addresses.length > 0) names.set(`${name}.test`, addresses)

  const { attempt: made } = await attempt(`https://${name}.test/hook`)

  expect(made).toEqual({ number: 1, started_at: expect.any(String), ...nowhere })
})

test('a name whose name server is silent cannot be told from one without an address', async () => {
  names.silentNames.add('silent.test')

  expect((await attempt('https://silent.test/hook')).attempt).toMatchObject(nowhere)
})

// No machine of the tests has such a network, so that dialling fails.
test('a name whose only address is public is dialled', async () => {
  names.set('translated.test', ['64:ff9b::5db8:d70e'])

  const { error } = (await attempt('https://translated.test/hook')).attempt
  expect(['connection_failed', 'timeout']).toContain(error)
})

test.each([
  ['does-not-exist.test', 201],
  ['private.test', 201],
  ['localhost', 201],
])('registering %s looks nothing up', async (host, status) => {
  const before = names.asked.length

  expect((await register(`https://${host}/hook`)).status).toBe(status)
  expect(names.asked.length).toBe(before)
})

test.each([
  'https://merchant.example/\thook',
  'https://merchant\n.example/',
  'https://merchant.example/\x7fhook',
])('a URL with a control character is refused, and leaves nothing behind', async (url) => {
  const list = async () => (await get(service.apiUrl, tenant, '/v1/webhook-endpoints')).text
  const before = await list()

  expectProblem(await register(url), 'webhook-url-refused')
  expect(await list()).toBe(before)
})
