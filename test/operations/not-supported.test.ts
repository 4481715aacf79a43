// Tests what a provider cannot do: it is refused before anything is written, and the key stays unused.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { operations } from '../../src/operations/index.ts'
import { declarationOf } from '../../src/provider/calls.ts'
import { abilities } from '../../src/provider/capabilities.ts'
import { stripeCapabilities } from '../../src/provider/stripe/adapter.ts'
import { countRows } from '../db/reservations.ts'
import { fixtures } from './fixture.ts'
import { expectProblem } from '../http/payments.ts'
import { paymentBody, post, postPayment } from '../support/client.ts'
import { startServiceInProcess, type ServiceInProcess } from '../support/service-in-process.ts'
import type { Tenant } from '../support/service.ts'

let service: ServiceInProcess
let tenant: Tenant

beforeAll(async () => {
  const capabilities = {
    ...stripeCapabilities,
    ...Object.fromEntries(Object.keys(abilities).map((name) => [name, false])),
    amounts: {
      ...stripeCapabilities.amounts,
      chargeMinimaMinor: new Map([['usd', 2_000]]),
      steps: new Map([['eur', 5]]),
    },
  }
  service = await startServiceInProcess({}, undefined, { capabilitiesOf: () => capabilities })
  tenant = await service.createTenant({ basisPoints: 0, fixedMinor: 0 })
})

afterAll(() => service.stop())

const TABLES = ['refunds', 'idempotency_keys', 'events', 'phase_runs', 'ledger_postings']

const countAll = () =>
  Promise.all(TABLES.map((table) => countRows(service.store.sql, table, tenant.id)))

const held = async () => {
  const body = paymentBody({ amount: 1_000, currency: 'eur', capture_method: 'manual' })
  const made = await postPayment(service.apiUrl, tenant, body, { key: randomUUID() })
  expect(made).toMatchObject({ status: 201, json: { status: 'requires_capture' } })
  return `/v1/payments/${String(made.json['id'])}`
}

/** Each operation that begins with a call that the provider cannot make. */
const unable = fixtures.flatMap(({ operation, body }): [string, object, string][] => {
  const { phases } = operations.find(({ name }) => name === operation) ?? {}
  const needs = declarationOf(phases?.['started']?.call)?.needs
  return needs === undefined ? [] : [[operation, body, abilities[needs].lack]]
})

test('some operations need what not every provider can do', () => {
  expect(unable.map(([name]) => name)).toEqual(
    expect.arrayContaining(['payment.cancel', 'payment.adjust']),
  )
})

test.each([['payment.capture', { amount: 995 }, abilities.partialCapture.lack], ...unable])(
  '%s is refused',
  async (operation, body, detail) => {
    const path = await held()
    const action = operation.replace('payment.', '')
    const key = randomUUID()
    const before = await countAll()

    const refused = await post(service.apiUrl, tenant, `${path}/${action}`, body, { key })

    expectProblem(refused, 'not-supported-by-provider')
    expect(refused.json['detail']).toBe(detail)
    expect(await countAll()).toEqual(before)
    const other = await post(service.apiUrl, tenant, `${path}/capture`, {}, { key })
    expect(other).toMatchObject({ status: 200, json: { status: 'succeeded' } })
  },
)

test.each([[undefined], [1_000]])(
  'a capture of %s, which is all, is not refused',
  async (amount) => {
    const path = await held()

    const answer = await post(service.apiUrl, tenant, `${path}/capture`, { amount })

    expect(answer).toMatchObject({ status: 200, json: { amount_captured: 1_000 } })
  },
)

test.each([
  ['usd', 1_999, 'amount-too-small'],
  ['eur', 1_001, 'invalid-amount'],
] as const)(
  'a payment in %s of %d is refused by the declared amounts',
  async (currency, amount, problem) => {
    const answer = await postPayment(service.apiUrl, tenant, paymentBody({ currency, amount }))

    expectProblem(answer, problem)
  },
)
