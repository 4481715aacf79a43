// Tests the commands of `npm run tenants` that say which tenant may charge which customer.
import { randomUUID } from 'node:crypto'
import { beforeAll, expect, test } from '@jest/globals'
import { showTenantId } from '../../../src/domain/tenants/tenant.ts'
import { runCommandLine } from '../../../src/start/tenants/run.ts'
import { makeTenant, openTestStore } from '../../db/reservations.ts'
import { database, store } from '../../support/own-store.ts'

let shop: string
let other: string

beforeAll(async () => {
  shop = showTenantId(await makeTenant(store))
  other = showTenantId(await makeTenant(store))
})
async function run(...args: string[]) {
  const outcome = await runCommandLine(args, () => openTestStore(database.url, 1))
  return { code: outcome.code, text: `${outcome.printed}${outcome.errorOutput}`.trimEnd() }
}

const customersOf = async (tenant: string) =>
  [...(await run('customers', tenant)).text.matchAll(/^cus_\w+/gm)].map(([id]) => id)

test('adds one or many customers, once, and lists them', async () => {
  expect(await run('add-customers', shop, 'cus_1', 'cus_2', 'cus_1')).toEqual({
    code: 0,
    text: `${shop} may charge cus_1, cus_2, cus_1.`,
  })
  expect((await run('add-customers', shop, 'cus_2')).code).toBe(0)

  expect(await customersOf(shop)).toEqual(['cus_2', 'cus_1'])
  const trail = await store.sql`
    select actor, action, details from admin_actions where subject = ${shop} order by happened_at
  `
  expect(trail[0]).toEqual({
    actor: 'command line',
    action: 'customers.assign',
    details: { result: 'assigned', customers: ['cus_1', 'cus_2', 'cus_1'] },
  })
})

test('moves a customer only from the tenant that --from names', async () => {
  await run('add-customers', shop, 'cus_moving')

  const refused = await run('add-customers', other, 'cus_fresh', 'cus_moving')
  const elsewhere = await run('add-customers', other, 'cus_moving', '--from', other)
  expect(refused).toEqual({
    code: 1,
    text: `tenants: cus_moving belongs to ${shop}. Name that tenant in --from to move them`,
  })
  expect(elsewhere.code).toBe(1)
  expect(await customersOf(other)).toEqual([])

  expect((await run('add-customers', other, 'cus_moving', '--from', shop)).code).toBe(0)
  expect(await customersOf(other)).toEqual(['cus_moving'])
  expect(await customersOf(shop)).not.toContain('cus_moving')
})

test.each([
  ['no customer', ['add-customers', 'TENANT'], 2, 'add-customers takes the id of one tenant and'],
  ['a customer with a space', ['add-customers', 'TENANT', 'cus 1'], 2, 'cannot be the id'],
  ['no tenant', ['add-customers', 'cus_1', 'cus_2'], 2, 'expected a tenant id'],
  ['an argument too much', ['customers', 'TENANT', 'cus_1'], 2, 'customers takes the id of one'],
  [
    'a tenant in --from that is none',
    ['add-customers', 'TENANT', 'cus_1', '--from', 'x'],
    2,
    'tnt_',
  ],
  ['an unknown tenant', ['add-customers', showTenantId(randomUUID()), 'cus_1'], 1, 'no tenant'],
])('refuses %s', async (_what, args, code, reason) => {
  const outcome = await run(...args.map((arg) => (arg === 'TENANT' ? shop : arg)))

  expect(outcome).toEqual({ code, text: expect.stringContaining(reason) })
})
