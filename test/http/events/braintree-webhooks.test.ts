// POST /provider/webhooks/braintree stores a signed event, and nothing else.
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import pino from 'pino'
import { createApiServer } from '../../../src/http/limits/api-server.ts'
import { createApp } from '../../../src/http/server/app.ts'
import { readConfig } from '../../../src/config.ts'
import type { Store } from '../../../src/db/connection/client.ts'
import type { ApiParts } from '../../../src/http/endpoint.ts'
import { wireApi } from '../../../src/wiring.ts'
import { openTestStore } from '../../db/reservations.ts'
import { KEYS, paymentOf } from '../../provider/braintree/adapter-calls.ts'
import { braintreeFixture } from '../../provider/braintree/fixture.ts'
import { read } from '../../support/client.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database.ts'
import { fetchApi } from '../../support/documented.ts'
import { ENCRYPTION_KEYS } from '../../support/encryption.ts'

let database: TestDatabase
let owner: Store
const running: { parts: ApiParts; server: Server }[] = []

beforeAll(async () => {
  database = await createTestDatabase()
  owner = openTestStore(database.url, 1)
})
afterEach(async () => {
  for (const { parts, server } of running.splice(0)) {
    server.close()
    parts.watch.stop()
    await parts.store.close()
  }
})
afterAll(async () => {
  await owner.close()
  await database.drop()
})

const settings = {
  BRAINTREE_MERCHANT_ID: KEYS.merchantId,
  BRAINTREE_PUBLIC_KEY: KEYS.publicKey,
  BRAINTREE_PRIVATE_KEY: KEYS.privateKey,
}

async function send(body: string, own: Record<string, string> = settings, type = FORM) {
  const config = readConfig({ DATABASE_URL: database.url, ENCRYPTION_KEYS, ...own })
  const parts = await wireApi(config, pino({ level: 'silent' }))
  const server = createApiServer(createApp(parts), parts).listen(0, '127.0.0.1')
  running.push({ parts, server })
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}/provider/webhooks/braintree`
  const headers = { 'content-type': type }
  return await read(await fetchApi(url, { method: 'POST', headers, body }))
}

const FORM = 'application/x-www-form-urlencoded'
const stored = () => owner.sql`select provider, type, payment_id from provider_events`

const payment = paymentOf({ providerPaymentId: 'sale1' })
const event = () => braintreeFixture.events.signed(payment).body

test('a signed event is stored once, however often it arrives', async () => {
  const body = event()

  expect(await send(body)).toMatchObject({ status: 200, json: { received: true } })
  expect(await send(body)).toMatchObject({ status: 200 })

  const type = 'transaction_settled'
  expect(await stored()).toEqual([{ provider: 'braintree', type, payment_id: payment.id }])
  await owner.sql`delete from provider_events`
})

test.each([
  [
    'an event with a forged signature',
    () => event().replace('bt_signature=', 'bt_signature=x'),
    settings,
    FORM,
    400,
  ],
  [
    'an event of the future',
    () => braintreeFixture.events.signed(payment, new Date(Date.now() + 400_000)).body,
    settings,
    FORM,
    400,
  ],
  ['an event as JSON', () => '{}', settings, 'application/json', 415],
  ['every event without the keys', event, {}, FORM, 404],
])('%s is refused, and not stored', async (_title, body, own, type, status) => {
  expect(await send(body(), own, type)).toMatchObject({ status })

  expect(await stored()).toEqual([])
})
