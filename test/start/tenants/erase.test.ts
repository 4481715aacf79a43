// Tests `npm run tenants -- erase`: what is left of a customer afterwards, and what is refused.
import { beforeAll, describe, expect, test } from '@jest/globals'
import { showTenantId } from '../../../src/domain/tenants/tenant.ts'
import { runOperation } from '../../../src/engine/run-phases.ts'
import { runCommandLine } from '../../../src/start/tenants/run.ts'
import { openTestStore } from '../../db/reservations.ts'
import type { Accepted } from '../../support/engine.ts'
import { makeCustomer, saveCard } from '../../support/customers.ts'
import { expectLedgerBalanced } from '../../support/ledger.ts'
import type { Tenant } from '../../support/service.ts'
import { t } from '../../support/own-engine.ts'

let tenant: string

beforeAll(async () => {
  tenant = showTenantId(t.tenantId)
})

async function run(...args: string[]) {
  const open = () => openTestStore(t.databaseUrl, 1)
  const { code, printed, errorOutput } = await runCommandLine(['erase', ...args], open)
  return { code, text: `${printed}${errorOutput}` }
}

/** A customer that the tenant may charge, and its card. */
async function newCustomer(): Promise<Payer> {
  const place = { providerUrl: t.provider.url, store: t.engine.store }
  const customer = await makeCustomer(place, { id: t.tenantId } as Tenant)
  return { customer, paymentMethod: await saveCard(place, customer) }
}

interface Payer {
  readonly customer: string
  readonly paymentMethod: string
}

const DESCRIPTION = 'a birthday present for Ada'
const METADATA = { email: 'ada@shop.example' }

async function accept(payer: Payer, more = {}): Promise<Accepted> {
  return await t.accept({ ...payer, description: DESCRIPTION, metadata: METADATA, ...more })
}

/** Everything that the database has of the tenant, but the queue of jobs. */
async function everything(): Promise<string> {
  const { sql } = t.engine.store
  const tables = await sql<{ name: string }[]>`
    select table_name as name from information_schema.tables
    where table_schema = 'public' and table_type = 'BASE TABLE'
  `
  const contents = await Promise.all(
    tables.map(({ name }) => sql<{ row: string }[]>`select t::text as row from ${sql(name)} as t`),
  )
  return contents.flatMap((rows) => rows.map(({ row }) => row)).join('\n')
}

describe('a customer with a refunded payment', () => {
  test('is in no table afterwards, and the money is as before', async () => {
    const payer = await newCustomer()
    const { customer, paymentMethod } = payer
    const other = await accept(await newCustomer(), { description: 'kept', metadata: {} })
    await runOperation(t.engine, other)
    const ref = await accept(payer)
    await runOperation(t.engine, ref)
    const refund = await t.acceptRefund(ref, 500)
    await runOperation(t.engine, refund)
    const before = await t.readPayment(ref)
    const ledger = await t.engine.store.sql`select * from ledger_postings order by id`
    expect(await everything()).toContain(customer)

    const { code, text } = await run(tenant, customer)

    expect({ code, text }).toEqual({ code: 0, text: expect.stringContaining('from 1 payments') })
    const left = await everything()
    for (const personal of [customer, DESCRIPTION, METADATA.email, paymentMethod]) {
      expect(left).not.toContain(personal)
    }
    expect(await t.readPayment(ref)).toEqual({
      ...before,
      customer: null,
      description: null,
      metadata: {},
      paymentMethod: 'erased',
    })
    expect(await t.engine.store.sql`select * from ledger_postings order by id`).toEqual(ledger)
    expect(await t.readPayment(other)).toMatchObject({ description: 'kept' })
    await expectLedgerBalanced(t.engine.store)
  })

  test('has its stored responses dropped, and its keys stay used', async () => {
    const payer = await newCustomer()
    const ref = await accept(payer)
    await runOperation(t.engine, ref)

    await run(tenant, payer.customer)

    expect(await t.readKey(ref)).toMatchObject({ status: 'completed', response_status: 410 })
  })

  test('is erased once; a second time finds nothing', async () => {
    const payer = await newCustomer()
    const { customer } = payer
    await runOperation(t.engine, await accept(payer))
    await run(tenant, customer)

    expect((await run(tenant, customer)).text).toContain('from 0 payments')
  })
})

describe('a customer with a payment that has not ended', () => {
  test.each([
    ['is in progress', {}, false],
    ['holds money', { captureMethod: 'manual' }, true],
  ] as const)('that %s is not erased', async (_, request, runs) => {
    const payer = await newCustomer()
    const { customer } = payer
    await runOperation(t.engine, await accept(payer))
    const ref = await accept(payer, request)
    if (runs) await runOperation(t.engine, ref)
    const before = await everything()

    const { code, text } = await run(tenant, customer)

    expect({ code, text }).toEqual({
      code: 1,
      text: expect.stringContaining(`1 payments of ${customer} have not ended`),
    })
    expect(await everything()).toBe(before)
  })
})

describe('bad input', () => {
  test.each([
    ['no customer', () => [tenant], 2],
    ['two customers', () => [tenant, 'cus_1', 'cus_2'], 2],
    ['what cannot be a customer', () => [tenant, 'Ada L.'], 2],
    ['what is no tenant', () => ['shop', 'cus_1'], 2],
    [
      'a tenant that does not exist',
      () => [showTenantId('0199c0de-0000-7000-8000-000000000000'), 'cus_1'],
      1,
    ],
  ])('%s is refused, and nothing is written', async (_, args, code) => {
    const before = await everything()

    expect(await run(...args())).toMatchObject({ code })

    expect(await everything()).toBe(before)
  })
})
