// Tests recovery after a worker crashed when the provider had executed its call. No matter who acts
// first (the sweeper, the client's retry, the provider's event or the outcome resolver, two of them
// concurrently), there is one charge, and everyone gets the same answer. While the provider
// remembers its keys the call is repeated; afterwards it is looked up.
import { randomUUID } from 'node:crypto'
import type { Server } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import pino from 'pino'
import { createApiServer } from '../../src/http/limits/api-server.ts'
import { createApp } from '../../src/http/server/app.ts'
import { readConfig } from '../../src/config.ts'
import { storeProviderEvent } from '../../src/db/events/provider-events.ts'
import { parsePaymentId } from '../../src/domain/payments/payment.ts'
import { applyProviderEvent } from '../../src/operations/apply-provider-event.ts'
import { resolveDue } from '../../src/recovery/outcome-resolver.ts'
import { runOperation } from '../../src/engine/run-phases.ts'
import { sweep } from '../../src/recovery/sweeper.ts'
import { wireApi } from '../../src/wiring.ts'
import { ENCRYPTION_KEYS } from '../support/encryption.ts'
import { postPayment, type ApiResponse } from '../support/client.ts'
import { aroundCommit } from '../support/engine-doubles.ts'
import { startTestEngine, type Accepted, type TestEngine } from '../support/engine.ts'
import { expectLedgerBalanced } from '../support/ledger.ts'
import type { Tenant } from '../support/service.ts'
import { eventAbout } from '../operations/follow-payment/provider-events.ts'

let t: TestEngine
let api: Server
let apiUrl: string
let tenant: Tenant
let stopApi: () => Promise<void>

beforeAll(async () => {
  t = await startTestEngine()
  const settings = { DATABASE_URL: t.databaseUrl, DATABASE_POOL_SIZE: '4', ENCRYPTION_KEYS }
  const config = readConfig(settings)
  // No worker is notified: the test decides who acts, and when.
  const parts = { ...(await wireApi(config, pino({ level: 'silent' }))), wakeWorkers: () => {} }
  api = createApiServer(createApp(parts), parts).listen(0, '127.0.0.1')
  await once(api, 'listening')
  apiUrl = `http://127.0.0.1:${(api.address() as AddressInfo).port}`
  tenant = { id: t.tenantId, apiKey: t.apiKey }
  stopApi = async () => {
    parts.watch.stop()
    api.closeAllConnections()
    api.close()
    await once(api, 'close')
    await parts.store.close()
  }
})

afterEach(() => t.provider.control('POST', '/reset'))

afterEach(() => expectLedgerBalanced(t.engine.store))

afterAll(async () => {
  await stopApi()
  await t.stop()
})

const async = { headers: { prefer: 'respond-async' } }

interface Dead extends Accepted {
  readonly key: string
  readonly shown: string
}

const kinds = { started: 'payment_intent.create', authorized: 'payment_intent.capture' } as const

type Point = keyof typeof kinds

async function accept(): Promise<Dead> {
  const key = randomUUID()
  const accepted = await postPayment(apiUrl, tenant, undefined, { key, ...async })
  expect(accepted.status).toBe(202)
  const shown = String(accepted.json['id'])
  const paymentId = parsePaymentId(shown) ?? ''
  const [row] = await t.engine.store.sql<{ id: string }[]>`
    select id from idempotency_keys where payment_id = ${paymentId}
  `
  return { tenantId: tenant.id, id: row?.id ?? '', paymentId, key, shown }
}

/** A payment whose worker crashed after the provider executed the call from this recovery point. */
async function dieAfterExecuting(point: Point): Promise<Dead> {
  const ref = await accept()
  const dying = aroundCommit(t.engine, async (commit) => {
    if ((await t.readKey(ref))['recovery_point'] === point) throw new Error('the process died')
    return commit()
  })
  await expect(runOperation(dying, ref)).rejects.toThrow('the process died')
  expect(await executed(ref, kinds[point])).toHaveLength(1)
  return ref
}

const executed = async ({ shown }: Dead, kind: string) =>
  (await t.provider.executed()).filter(
    (call) => call.kind === kind && call.metadata['atomic_payment'] === shown,
  )

const times = {
  'inside the provider’s memory': async (ref: Dead) => t.expireLease(ref),
  'past the provider’s memory': async (ref: Dead) => {
    const seconds = t.engine.settings.PROVIDER_KEY_WINDOW_SECONDS + 60
    await t.letTimePass(ref, seconds)
    for (const { id } of await executed(ref, kinds.started)) {
      const { created } = await t.provider.stripe.paymentIntents.retrieve(id)
      await t.provider.control('POST', `/objects/${id}`, { created: created - seconds })
    }
    // From now on a repeated call would charge again.
    await t.provider.control('POST', '/idempotency', { mode: 'forget' })
  },
}

type Actor = (ref: Dead) => Promise<unknown>

const actors: Record<string, Actor> = {
  sweeper: () => sweep(t.engine),
  'client retry': ({ key }) => postPayment(apiUrl, tenant, undefined, { key, ...async }),
  webhook: async ({ tenantId, paymentId, shown }) => {
    const [made] = (await t.provider.executed()).filter(
      (call) => call.metadata['atomic_payment'] === shown,
    )
    const named = { tenantId, id: paymentId, providerPaymentId: made?.id ?? '' }
    const event = eventAbout(named, { id: `evt_${paymentId.replaceAll('-', '')}` })
    await storeProviderEvent(t.engine.store.sql, event)
    return await applyProviderEvent(t.engine, event)
  },
  resolver: () => resolveDue(t.engine),
}

const names = Object.keys(actors)
const pairs = names.flatMap((one, index) =>
  names.slice(index).map((other) => [one, other] as const),
)

/** Runs all actors, including the worker, until the operation is completed. */
async function runUntilCompleted(ref: Dead): Promise<void> {
  for (let round = 0; round < 10; round += 1) {
    await sweep(t.engine)
    await runOperation(t.engine, ref)
    await resolveDue(t.engine)
    if ((await t.readKey(ref))['status'] === 'completed') return
    await t.letTimePass(ref, 5)
  }
  throw new Error('the operation is never completed')
}

/** An answer without the members that differ for each payment. */
const sayingOf = ({ json, status }: ApiResponse) => ({
  status,
  saying: { ...json, id: null, created_at: null, capture_before: null, provider: null },
})

let undisturbed: ApiResponse

beforeAll(async () => {
  const ref = await accept()
  expect(await runOperation(t.engine, ref)).toBe('finished')
  undisturbed = await postPayment(apiUrl, tenant, undefined, { key: ref.key })
})

describe.each(Object.keys(kinds) as Point[])(
  'a worker that crashed in the phase from %s',
  (point) => {
    describe.each(Object.entries(times))('%s', (_when, passTime) => {
      test.each(pairs)('first the %s and %s', async (...order) => {
        const ref = await dieAfterExecuting(point)
        await passTime(ref)

        await Promise.all(order.map(async (name) => await actors[name]?.(ref)))
        await runUntilCompleted(ref)

        expect(await executed(ref, 'payment_intent.create')).toHaveLength(1)
        expect(await executed(ref, 'payment_intent.capture')).toHaveLength(1)
        const retries = await Promise.all(
          [1, 2].map(() => postPayment(apiUrl, tenant, undefined, { key: ref.key })),
        )
        expect(new Set(retries.map(({ text }) => text)).size).toBe(1)
        const [answer] = retries
        expect(answer && sayingOf(answer)).toEqual(sayingOf(undisturbed))
      })
    })
  },
)
