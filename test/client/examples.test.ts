// Runs the examples as processes against the real service.
import { randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { Webhook } from 'standardwebhooks'
import { unwrap } from '../../client/errors.ts'
import { getOrCreateKey } from '../../client/examples/stored-keys.ts'
import { createClient, newIdempotencyKey } from '../../client/index.ts'
import { startProcess, type ServiceProcess } from '../support/processes.ts'
import type { Tenant } from '../support/service.ts'
import { makeTemporaryFolder } from '../support/temporary-folder.ts'
import { startFaultyProxy, type FaultyProxy } from './faulty-proxy.ts'
import { executedForOrder, expectOneCharge } from './expect-one-charge.ts'
import { until } from '../support/until.ts'
import { service } from '../support/shared-service.ts'

let proxy: FaultyProxy
let tenant: Tenant
let keysFolder: string
let order: string

beforeEach(async () => {
  proxy = await startFaultyProxy(service.apiUrl)
  tenant = await service.createTenant()
  keysFolder = await makeTemporaryFolder()
  order = `order/${randomUUID()}`
})

afterEach(async () => {
  await service.control('DELETE', 'faults')
  await proxy.stop()
})

/** Starts an example with these environment variables. */
const startExample = (example: string, env: Record<string, string>) =>
  startProcess(`client/examples/${example}.ts`, { env })

/** Starts an example for the order of the test. */
function run(example: string, settings: Record<string, string> = {}): ServiceProcess {
  const ofTest = { API_URL: proxy.url, API_KEY: tenant.apiKey, ORDER: order }
  return startExample(example, { ...ofTest, KEYS_FOLDER: keysFolder, ...settings })
}

async function storedKeys(): Promise<string[]> {
  const names = await readdir(keysFolder)
  return await Promise.all(names.map((name) => readFile(join(keysFolder, name), 'utf8')))
}

/** Resolves once the provider has executed a call of this kind for the order. */
async function waitUntilExecuted(kind: string): Promise<void> {
  await until(async () =>
    (await executedForOrder(service, order)).some((call) => call.kind === kind),
  )
}

describe('pay-and-wait', () => {
  test('charges an order once when it runs twice', async () => {
    const first = run('pay-and-wait')
    expect(await first.exited).toEqual({ code: 0, signal: null })
    const second = run('pay-and-wait')
    await second.exited

    expect(first.lines).toEqual([expect.stringMatching(/^pay_\w+ succeeded$/)])
    expect(second.lines).toEqual(first.lines)
    await expectOneCharge(service, tenant, order)
  })

  test('charges once with the stored key after SIGKILL before its request arrives', async () => {
    proxy.faults.push('hold')
    const first = run('pay-and-wait')
    await proxy.waitUntilApplied('hold')
    expect(await executedForOrder(service, order)).toEqual([])

    await killAndRunAgain(first)
  })

  test('charges once with the stored key after SIGKILL once the provider has charged', async () => {
    const match = { path: '/v1/payment_intents/*/capture' }
    await service.control('POST', 'faults', { match, fault: 'hang_after' })
    const first = run('pay-and-wait')
    await waitUntilExecuted('payment_intent.capture')
    expect(first.lines).toEqual([])

    await killAndRunAgain(first)
  })

  async function killAndRunAgain(first: ServiceProcess): Promise<void> {
    first.kill('SIGKILL')
    await first.exited
    const keysBefore = await storedKeys()
    await service.control('DELETE', 'faults')

    const second = run('pay-and-wait')
    expect(await second.exited).toEqual({ code: 0, signal: null })

    expect(second.lines.at(-1)).toMatch(/^pay_\w+ succeeded$/)
    expect(await storedKeys()).toEqual(keysBefore)
    const rows = await service.store.sql<{ key: string }[]>`
      select key from idempotency_keys where tenant_id = ${tenant.id}
    `
    expect(rows.map(({ key }) => key)).toEqual(keysBefore)
    await expectOneCharge(service, tenant, order)
  }

  test.each(['API_KEY', 'ORDER'])('without %s, says what to set', async (name) => {
    const example = run('pay-and-wait', { [name]: '' })

    expect(await example.exited).toEqual({ code: 1, signal: null })
    expect(example.lines).toEqual([expect.stringContaining(`set ${name}: `)])
    expect(await storedKeys()).toEqual([])
  })
})

test('pay-and-poll prints the processing payment at once, and the succeeded one later', async () => {
  const match = { path: '/v1/payment_intents' }
  await service.control('POST', 'faults', { match, fault: 'hang_before' })
  const example = run('pay-and-poll')
  const accepted = await example.waitForLine((line) => line.startsWith('pay_'))

  expect(await example.exited).toEqual({ code: 0, signal: null })

  const [id = ''] = accepted.split(' ')
  expect(example.lines).toEqual([`${id} processing`, `${id} succeeded`])
  await expectOneCharge(service, tenant, order)
})

describe('receive-webhook', () => {
  let merchant: Tenant
  let secret: string
  let receiver: ServiceProcess
  /**
   * The URL of the endpoint. The receiver starts behind it later, because it needs the secret of
   * the endpoint.
   */
  let endpoint: FaultyProxy

  beforeAll(async () => {
    endpoint = await startFaultyProxy()
    merchant = await service.createTenant()
    const client = createClient({ baseUrl: service.apiUrl, apiKey: merchant.apiKey })
    const created = await client.POST('/v1/webhook-endpoints', {
      idempotencyKey: newIdempotencyKey(),
      body: { url: `${endpoint.url}/webhooks`, event_types: ['payment.succeeded'] },
    })
    secret = unwrap(created).secret
    receiver = startExample('receive-webhook', { WEBHOOK_SECRET: secret, PORT: '0' })
    const line = await receiver.waitForLine((candidate) => candidate.startsWith('listening'))
    endpoint.target = `http://127.0.0.1:${line.split(' ').at(-1) ?? ''}`
  })

  afterAll(async () => {
    receiver.kill('SIGTERM')
    await receiver.exited
    await endpoint.stop()
  })

  const idOf = (body: string) => String(JSON.parse(body).id)
  const bodyOf = (id: string) =>
    JSON.stringify({ id, type: 'payment.succeeded', data: { object: { id: 'pay_1' } } })

  /** Sends a message as the service does, and returns the status of the answer. */
  async function send(
    sentAt: Date,
    signingSecret: string,
    sent: string,
    signed = sent,
  ): Promise<number> {
    const headers = {
      'webhook-id': idOf(sent),
      'webhook-timestamp': String(Math.floor(sentAt.getTime() / 1_000)),
      'webhook-signature': new Webhook(signingSecret).sign(idOf(sent), sentAt, signed),
    }
    const { status } = await fetch(endpoint.url, { method: 'POST', headers, body: sent })
    return status
  }

  /** The lines of the events with such ids that the receiver accepted. */
  const acceptedEvents = (prefix: string) =>
    receiver.lines.filter((line) => line.startsWith(`${prefix}_`))

  test('accepts an event of the service', async () => {
    const paying = run('pay-and-wait', { API_KEY: merchant.apiKey })
    await paying.exited
    const [id = ''] = paying.lines[0]?.split(' ') ?? []

    const line = await receiver.waitForLine((candidate) => candidate.includes(id))

    expect(line).toMatch(new RegExp(`^evt_\\w+ payment\\.succeeded ${id}$`))
  })

  test('handles an event once when it arrives twice', async () => {
    const now = new Date()
    const body = bodyOf('twice_1')

    expect([await send(now, secret, body), await send(now, secret, body)]).toEqual([204, 204])

    await receiver.waitForLine((line) => line.startsWith('twice_1 '))
    expect(acceptedEvents('twice')).toEqual(['twice_1 payment.succeeded pay_1'])
  })

  test('says what a merchant does about an event that comes late', async () => {
    const events: [string, object][] = [
      ['refund.failed', { failure: { code: 'lost_or_stolen_card' } }],
      ['refund.failed', { failure: null }],
      ['payment.authorization_expiring', { capture_before: '2026-01-31T12:00:00.000Z' }],
      ['payment.early_fraud_warning', {}],
      ['dispute.created', { provider: { dispute_id: 'du_1' } }],
      ['dispute.updated', { status: 'under_review' }],
      ['dispute.funds_withdrawn', { amount_withdrawn: 1_999 }],
      ['dispute.funds_reinstated', { amount_reinstated: 1_999 }],
      ['dispute.closed', { status: 'won' }],
    ]
    for (const [index, [type, fields]] of events.entries()) {
      const object = { id: 'x_1', ...fields }
      const event = JSON.stringify({ id: `late_${index}`, type, data: { object } })
      expect(await send(new Date(), secret, event)).toBe(204)
    }

    await receiver.waitForLine((line) => line.includes(' dispute.closed '))
    const tasks = acceptedEvents('late').map((line) => line.replace(/^late_\S+ /, ''))
    expect(tasks).toEqual([
      'refund.failed x_1: the money of x_1 is back in the balance: refund again, or pay the customer otherwise',
      'refund.failed x_1: send the request of x_1 again, with its key',
      'payment.authorization_expiring x_1: capture x_1 before 2026-01-31T12:00:00.000Z, or cancel it',
      'payment.early_fraud_warning x_1: do not ship x_1; a full refund now prevents a dispute and its fee',
      'dispute.created x_1: answer du_1 at the provider, or accept the loss',
      'dispute.updated x_1: the status is under_review: answer while it needs a response',
      'dispute.funds_withdrawn x_1: book 1999 and the fee as withdrawn; do not refund',
      'dispute.funds_reinstated x_1: book 1999 as reinstated',
      'dispute.closed x_1: close the case as won',
    ])
  })

  test('returns 400 for an event that is forged, altered, unsigned, too old or in the future', async () => {
    const now = Date.now()
    const body = bodyOf('wrong_1')
    const forged = `whsec_${Buffer.from(randomUUID()).toString('base64')}`
    const unsigned = await fetch(endpoint.url, { method: 'POST', body })

    const statuses = [
      await send(new Date(now), forged, body),
      await send(new Date(now), secret, body.replace('pay_1', 'pay_2'), body),
      unsigned.status,
      await send(new Date(now - 6 * 60_000), secret, body),
      await send(new Date(now + 6 * 60_000), secret, body),
    ]

    expect(statuses).toEqual([400, 400, 400, 400, 400])
    expect(await send(new Date(), secret, body)).toBe(204)
    await receiver.waitForLine((line) => line.startsWith('wrong_1 '))
    expect(acceptedEvents('wrong')).toEqual(['wrong_1 payment.succeeded pay_1'])
  })
})

test('concurrent calls for one order all get the same key', async () => {
  const keys = await Promise.all(
    Array.from({ length: 20 }, () => getOrCreateKey(keysFolder, order)),
  )

  expect(new Set(keys).size).toBe(1)
  expect(await storedKeys()).toEqual([keys[0]])
})
