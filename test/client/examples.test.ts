// The examples, run as they are by hand: as processes, against the real service.
import { randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { Webhook } from 'standardwebhooks'
import { unwrap } from '../../client/errors.ts'
import { getOrCreateKey } from '../../client/examples/stored-keys.ts'
import { createClient, newIdempotencyKey, type Client } from '../../client/index.ts'
import { expectLedgerBalanced } from '../support/ledger.ts'
import { startProcess, type ServiceProcess } from '../support/processes.ts'
import { startService, type Service, type Tenant } from '../support/service.ts'
import { makeTemporaryFolder } from '../support/temporary-folder.ts'
import { startFaultyProxy, type FaultyProxy } from './faulty-proxy.ts'
import { executedForOrder, expectOneCharge } from './expect-one-charge.ts'

let service: Service
let proxy: FaultyProxy
let tenant: Tenant
let client: Client
let keysFolder: string
let order: string

beforeAll(async () => {
  service = await startService({ WEBHOOK_ALLOW_INSECURE: 'true' })
})

beforeEach(async () => {
  proxy = await startFaultyProxy(service.apiUrl)
  tenant = await service.createTenant()
  client = createClient({ baseUrl: service.apiUrl, apiKey: tenant.apiKey })
  keysFolder = await makeTemporaryFolder()
  order = `order/${randomUUID()}`
})

afterEach(async () => {
  await service.control('DELETE', 'faults')
  await proxy.stop()
  await expectLedgerBalanced(service.store)
})

afterAll(() => service.stop())

/** An example with settings as a person gives them. */
function run(example: string, settings: Record<string, string> = {}): ServiceProcess {
  return startProcess(`client/examples/${example}.ts`, {
    env: {
      API_URL: proxy.url,
      API_KEY: tenant.apiKey,
      ORDER: order,
      KEYS_FOLDER: keysFolder,
      ...settings,
    },
  })
}

async function storedKeys(): Promise<string[]> {
  const names = await readdir(keysFolder)
  return await Promise.all(names.map((name) => readFile(join(keysFolder, name), 'utf8')))
}

/** Resolves when the provider has done that for the order. */
async function waitUntilExecuted(kind: string): Promise<void> {
  while (!(await executedForOrder(service, order)).some((call) => call.kind === kind));
}

describe('pay and wait', () => {
  test('charges for the order, once, however often it is run', async () => {
    const first = run('pay-and-wait')
    expect(await first.exited).toEqual({ code: 0, signal: null })
    const second = run('pay-and-wait')
    await second.exited

    expect(first.lines).toEqual([expect.stringMatching(/^pay_\w+ succeeded$/)])
    expect(second.lines).toEqual(first.lines)
    await expectOneCharge(service, tenant, order)
  })

  test('is killed before its request has arrived: the next run uses the key that was kept, and charges once', async () => {
    proxy.faults.push('hold')
    const first = run('pay-and-wait')
    await proxy.waitUntilApplied('hold')
    first.kill('SIGKILL')
    await first.exited
    const kept = await storedKeys()
    expect(await executedForOrder(service, order)).toEqual([])

    const second = run('pay-and-wait')
    expect(await second.exited).toEqual({ code: 0, signal: null })

    expect(await storedKeys()).toEqual(kept)
    expect(await keysOfService()).toEqual(kept)
    await expectOneCharge(service, tenant, order)
  })

  test('is killed when the provider has charged: the next run uses the key that was kept, and charges once', async () => {
    const match = { path: '/v1/payment_intents/*/capture' }
    await service.control('POST', 'faults', { match, fault: 'hang_after' })
    const first = run('pay-and-wait')
    await waitUntilExecuted('payment_intent.capture')
    first.kill('SIGKILL')
    await first.exited
    const kept = await storedKeys()
    expect(first.lines).toEqual([])
    await service.control('DELETE', 'faults')

    const second = run('pay-and-wait')
    expect(await second.exited).toEqual({ code: 0, signal: null })

    expect(second.lines.at(-1)).toMatch(/^pay_\w+ succeeded$/)
    expect(await storedKeys()).toEqual(kept)
    expect(await keysOfService()).toEqual(kept)
    await expectOneCharge(service, tenant, order)
  })

  test('a declined card is told in one line', async () => {
    const example = run('pay-and-wait', { PAYMENT_METHOD: 'pm_card_chargeDeclined' })

    expect(await example.exited).toEqual({ code: 1, signal: null })
    expect(example.lines).toEqual([expect.stringMatching(/^402 payment-declined: /)])
  })

  test.each(['API_KEY', 'ORDER'])('without %s says what to set', async (name) => {
    const example = run('pay-and-wait', { [name]: '' })

    expect(await example.exited).toEqual({ code: 1, signal: null })
    expect(example.lines).toEqual([expect.stringContaining(`set ${name}: `)])
    expect(await storedKeys()).toEqual([])
  })

  async function keysOfService(): Promise<string[]> {
    const rows = await service.store.sql<{ key: string }[]>`
      select key from idempotency_keys where tenant_id = ${tenant.id}
    `
    return rows.map(({ key }) => key)
  }
})

test('pay and poll is told at once that the payment is processed, and later that it succeeded', async () => {
  service.worker.kill('SIGSTOP')
  const example = run('pay-and-poll')
  const accepted = await example.waitForLine((line) => line.startsWith('pay_'))
  service.worker.kill('SIGCONT')

  expect(await example.exited).toEqual({ code: 0, signal: null })

  const [id = ''] = accepted.split(' ')
  expect(example.lines).toEqual([`${id} processing`, `${id} succeeded`])
  await expectOneCharge(service, tenant, order)
})

describe('receive a webhook', () => {
  let secret: string
  let receiver: ServiceProcess
  /** Where the service sends to; the receiver is behind it, because it needs the endpoint's secret. */
  let endpoint: FaultyProxy

  beforeEach(async () => {
    endpoint = await startFaultyProxy()
    const created = await client.POST('/v1/webhook-endpoints', {
      idempotencyKey: newIdempotencyKey(),
      body: { url: `${endpoint.url}/webhooks`, event_types: ['payment.succeeded'] },
    })
    secret = unwrap(created).secret
    receiver = run('receive-webhook', { WEBHOOK_SECRET: secret, PORT: '0' })
    const line = await receiver.waitForLine((candidate) => candidate.startsWith('listening'))
    endpoint.target = `http://127.0.0.1:${line.split(' ').at(-1) ?? ''}`
  })

  afterEach(async () => {
    receiver.kill('SIGTERM')
    await receiver.exited
    await endpoint.stop()
  })

  const body = JSON.stringify({
    id: 'evt_1',
    type: 'payment.succeeded',
    data: { object: { id: 'pay_1' } },
  })

  /** Sends a message as the service does, and returns the status that it is answered with. */
  async function send(sentAt: Date, signingSecret: string, sent = body): Promise<number> {
    const headers = {
      'webhook-id': 'evt_1',
      'webhook-timestamp': String(Math.floor(sentAt.getTime() / 1_000)),
      'webhook-signature': new Webhook(signingSecret).sign('evt_1', sentAt, body),
    }
    const { status } = await fetch(endpoint.url, { method: 'POST', headers, body: sent })
    return status
  }

  /** Of the events that the receiver has believed. */
  const acceptedEvents = () => receiver.lines.filter((line) => line.startsWith('evt_'))

  test('believes what the service sends', async () => {
    const paying = run('pay-and-wait')
    await paying.exited
    const [id = ''] = paying.lines[0]?.split(' ') ?? []

    const line = await receiver.waitForLine((candidate) => candidate.includes(id))

    expect(line).toMatch(new RegExp(`^evt_\\w+ payment\\.succeeded ${id}$`))
  })

  test('does once what arrives twice', async () => {
    const now = new Date()

    expect([await send(now, secret), await send(now, secret)]).toEqual([204, 204])

    await receiver.waitForLine((line) => line.startsWith('evt_1 '))
    expect(acceptedEvents()).toEqual(['evt_1 payment.succeeded pay_1'])
  })

  test('refuses what is signed with another secret, altered, unsigned, old or of the future', async () => {
    const now = Date.now()
    const forged = `whsec_${Buffer.from(randomUUID()).toString('base64')}`
    const unsigned = await fetch(endpoint.url, { method: 'POST', body })

    const statuses = [
      await send(new Date(now), forged),
      await send(new Date(now), secret, body.replace('pay_1', 'pay_2')),
      unsigned.status,
      await send(new Date(now - 6 * 60_000), secret),
      await send(new Date(now + 6 * 60_000), secret),
    ]

    expect(statuses).toEqual([400, 400, 400, 400, 400])
    expect(await send(new Date(), secret)).toBe(204)
    await receiver.waitForLine((line) => line.startsWith('evt_1 '))
    expect(acceptedEvents()).toEqual(['evt_1 payment.succeeded pay_1'])
  })

  test('without WEBHOOK_SECRET says what to set', async () => {
    const example = run('receive-webhook')

    expect(await example.exited).toEqual({ code: 1, signal: null })
    expect(example.lines).toEqual([expect.stringContaining('set WEBHOOK_SECRET: ')])
  })
})

test('of many that want the key of one order at once, all get the same', async () => {
  const keys = await Promise.all(
    Array.from({ length: 20 }, () => getOrCreateKey(keysFolder, order)),
  )

  expect(new Set(keys).size).toBe(1)
  expect(await storedKeys()).toEqual([keys[0]])
})
