// Tests the commands of `npm run tenants`: their output, effects and exit codes.
import { describe, expect, test } from '@jest/globals'
import { authenticateKey } from '../../../src/db/tenants/api-keys.ts'
import { scopes } from '../../../src/domain/tenants/api-key.ts'
import { parseTenantId } from '../../../src/domain/tenants/tenant.ts'
import { providerNames } from '../../../src/provider/adapters.ts'
import { runCommandLine } from '../../../src/start/tenants/run.ts'
import { openTestStore } from '../../db/reservations.ts'
import { database, store } from '../../support/own-store.ts'

const TENANT = 'tnt_01kac0xbvrf4v9rfw1zrk3bxsz'
const KEY = 'key_01kac0xbvrf4v9rfw1zrk3bxsz'

async function run(args: readonly string[]) {
  const open = () => openTestStore(database.url, 1)
  const { code, printed, errorOutput } = await runCommandLine(args, open)
  return { code, text: `${printed}${errorOutput}`.trimEnd() }
}

/** A command that must end before it opens the store. */
async function runWithoutStore(args: readonly string[]) {
  const { code, printed, errorOutput } = await runCommandLine(args, () => {
    throw new Error('opened a store')
  })
  return { code, text: `${printed}${errorOutput}` }
}

/** The value that a command printed after a word. */
const wordOf = (text: string, word: string): string =>
  new RegExp(`^${word} +(\\S+)$`, 'm').exec(text)?.[1] ?? ''

async function makeTenant(args: readonly string[] = []) {
  const { text } = await run(['create', 'Shop', ...args])
  return {
    id: wordOf(text, 'tenant'),
    key: wordOf(text, 'key'),
    secret: wordOf(text, 'api key'),
  }
}

const trailOf = (subject: string) => store.sql`
  select actor, action, details ->> 'result' as result from admin_actions
  where subject = ${subject} order by happened_at, id
`

test('creates a tenant with a valid key, and lists it', async () => {
  const { id, secret } = await makeTenant()
  const list = await run(['list'])

  const tenantId = parseTenantId(id)
  expect(await authenticateKey(store, secret)).toMatchObject({ tenantId, scopes: ['*'] })
  expect(list.code).toBe(0)
  expect(list.text).toMatch(
    new RegExp(`^${id}  \\S+Z  enabled  0 bp \\+ 0  optional    Shop$`, 'm'),
  )
  expect(await trailOf(id)).toEqual([
    { actor: 'command line', action: 'tenant.create', result: 'made' },
  ])
})

test('adds a key with scopes, and prints its secret only once', async () => {
  const { id } = await makeTenant()
  const added = await run(['add-key', id, '--scopes', 'payments:read, ledger:read'])
  const secret = wordOf(added.text, 'api key')
  const keys = await run(['keys', id])

  const granted = ['payments:read', 'ledger:read']
  expect(await authenticateKey(store, secret)).toMatchObject({ scopes: granted })
  expect(keys.text).toContain(secret.slice(0, 16))
  expect(keys.text).not.toContain(secret.slice(0, 17))
  expect(keys.text.split('\n')).toHaveLength(3)
})

test('rotates a key, and keeps the old one for the grace period', async () => {
  const { id, key, secret } = await makeTenant(['--scopes', 'payments:read'])
  const rotated = await run(['rotate-key', key, '--grace-hours', '1'])
  const keys = await run(['keys', id])
  const again = await run(['rotate-key', key])

  const made = wordOf(rotated.text, 'api key')
  expect(rotated).toMatchObject({ code: 0 })
  expect(rotated.text).toContain(`${key} works for 1 more hours.`)
  expect(await authenticateKey(store, secret)).toBeDefined()
  expect(await authenticateKey(store, made)).toMatchObject({ scopes: ['payments:read'] })
  expect(keys.text).toMatch(new RegExp(`^${key} .* retiring `, 'm'))
  expect(again).toEqual({ code: 1, text: `tenants: ${key} has ended, or was already rotated` })
})

test('revokes a key at once, and rotates one without a grace period', async () => {
  const one = await makeTenant()
  const other = await makeTenant()
  const revoked = await run(['revoke-key', one.key])
  const rotated = await run(['rotate-key', other.key, '--grace-hours', '0'])

  expect(revoked).toEqual({ code: 0, text: `${one.key} is revoked.` })
  expect(rotated.text).toContain(`${other.key} no longer works.`)
  expect(await authenticateKey(store, one.secret)).toBeUndefined()
  expect(await authenticateKey(store, other.secret)).toBeUndefined()
})

test('disables and enables a tenant, by either form of its id', async () => {
  const { id, secret } = await makeTenant()
  const disabled = await run(['disable', parseTenantId(id) ?? ''])
  const refused = await authenticateKey(store, secret)
  const enabled = await run(['enable', id])

  expect([disabled.code, enabled.code]).toEqual([0, 0])
  expect(refused).toBeUndefined()
  expect(await authenticateKey(store, secret)).toBeDefined()
  expect(await trailOf(id)).toMatchObject([
    { action: 'tenant.create' },
    { action: 'tenant.disable', result: 'disabled' },
    { action: 'tenant.enable', result: 'enabled' },
  ])
})

test('sets fees', async () => {
  const { id } = await makeTenant()
  const { code } = await run(['fees', id, '--basis-points', '290', '--fixed', '30'])

  expect(code).toBe(0)
  expect((await run(['list'])).text).toMatch(new RegExp(`^${id} .* 290 bp \\+ 30 `, 'm'))
})

test('requires references, or not', async () => {
  const { id, secret } = await makeTenant()
  for (const references of ['required', 'optional']) {
    const { text, code } = await run(['policy', id, '--references', references])

    expect({ text, code }).toEqual({
      text: `tenant      ${id}\nreferences  ${references}`,
      code: 0,
    })
    expect((await run(['list'])).text).toMatch(new RegExp(`^${id} .* ${references} `, 'm'))
    expect(await authenticateKey(store, secret)).toMatchObject({
      requiresReference: references === 'required',
    })
  }
  expect(await trailOf(id)).toMatchObject([
    { action: 'tenant.create' },
    { action: 'tenant.references', result: 'set' },
    { action: 'tenant.references', result: 'set' },
  ])
})

test('shows and sets the providers of new payments', async () => {
  const { id, secret } = await makeTenant()
  const inForce = async () => (await authenticateKey(store, secret))?.providers

  expect((await run(['providers', id])).text).toContain('default  every currency')
  const set = await run(['providers', id, 'stripe:eur,gbp'])

  expect(set).toEqual({ code: 0, text: 'stripe  eur, gbp' })
  expect(await run(['providers', id])).toEqual(set)
  const routes = [{ provider: 'stripe', currencies: ['eur', 'gbp'] }]
  expect(await inForce()).toEqual(routes)
  await run(['providers', id, 'default'])
  expect(await inForce()).toBeNull()
  expect(await trailOf(id)).toMatchObject([
    { action: 'tenant.create' },
    { action: 'tenant.providers', result: 'set' },
    { action: 'tenant.providers', result: 'set' },
  ])
})

describe('limits', () => {
  const rows = (values: readonly string[]) =>
    [
      'LIMIT        SETTING            OF THIS TENANT',
      `writes       RATE_LIMIT_WRITES  ${values[0]}`,
      `reads        RATE_LIMIT_READS   ${values[1]}`,
      `active-keys  MAX_ACTIVE_KEYS    ${values[2]}`,
      `stored-keys  MAX_STORED_KEYS    ${values[3]}`,
      `key-length   KEY_LENGTH_MIN     ${values[4] ?? 'default'}`,
    ].join('\n')

  test('are those of the service, until the tenant gets its own', async () => {
    const { id, secret } = await makeTenant()
    const shown = await run(['limits', id])
    const set = await run(['limits', id, '--writes=90', '--stored-keys=0', '--key-length=36'])

    expect(shown).toEqual({ code: 0, text: rows(['default', 'default', 'default', 'default']) })
    expect(set).toEqual({ code: 0, text: rows(['90', 'default', 'default', 'no limit', '36']) })
    expect(await run(['limits', id])).toEqual(set)
    expect(await authenticateKey(store, secret)).toMatchObject({
      limits: { RATE_LIMIT_WRITES: 90, MAX_STORED_KEYS: 0, KEY_LENGTH_MIN: 36 },
    })
  })

  test('change alone, and are reset one by one', async () => {
    const [{ id, secret }, other] = [await makeTenant(), await makeTenant()]
    await run(['limits', id, '--writes', '1000000', '--reads', '8', '--active-keys', '7'])
    await run(['limits', id, '--stored-keys', '10000000', '--reads', 'default'])

    expect((await authenticateKey(store, secret))?.limits).toEqual({
      RATE_LIMIT_WRITES: 1_000_000,
      MAX_ACTIVE_KEYS: 7,
      MAX_STORED_KEYS: 10_000_000,
    })
    expect((await authenticateKey(store, other.secret))?.limits).toEqual({})
    expect(await trailOf(id)).toMatchObject([
      { action: 'tenant.create' },
      { actor: 'command line', action: 'tenant.limits', result: 'set' },
      { actor: 'command line', action: 'tenant.limits', result: 'set' },
    ])
  })

  test.each([
    ['--writes', '1000001', 1_000_000],
    ['--reads', '', 1_000_000],
    ['--active-keys', 'none', 1_000_000],
    ['--stored-keys', '10000001', 10_000_000],
    ['--key-length', '65', 64],
  ])('refuse %s %s', async (option, value, max) => {
    const { code, text } = await runWithoutStore(['limits', TENANT, `${option}=${value}`])

    const expected = `${option} must be a whole number from 0 to ${max}, or default`
    expect(text).toContain(`tenants: ${expected}\n`)
    expect(code).toBe(2)
  })
})

test('writes no secret to the audit trail', async () => {
  const { secret } = await makeTenant()
  const [row] = await store.sql`select jsonb_agg(a)::text as trail from admin_actions as a`
  expect(row?.['trail']).toContain('command line')
  expect(row?.['trail']).not.toContain(secret.slice(16, 32))
})

test.each(['--help', '-h'])('%s prints the commands', async (option) => {
  const { code, text } = await runWithoutStore([option])

  expect(code).toBe(0)
  for (const scope of scopes) expect(text).toContain(scope)
  for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(90)
})

describe('exits with 2 and the help', () => {
  test.each([
    ['no command', []],
    ['no such command', ['remove', TENANT]],
    ['create takes one name', ['create']],
    ['a tenant name has 1 to 200 characters', ['create', 'Shop\nforged line']],
    ['a tenant name has 1 to 200 characters', ['create', '\u001b[2J']],
    ['list takes no argument', ['list', TENANT]],
    ['list takes no --scopes', ['list', '--scopes', '*']],
    ['unknown scope "payments:*"', ['create', 'Shop', '--scopes', 'payments:*']],
    ['expected a tenant id (tnt_...)', ['keys', KEY]],
    ['expected an API key id (key_...)', ['revoke-key', TENANT]],
    ['--grace-hours must be', ['rotate-key', KEY, '--grace-hours', '169']],
    ['--basis-points must be', ['fees', TENANT, '--basis-points', '10001', '--fixed', '0']],
    ['--references must be required or optional', ['policy', TENANT, '--references', 'yes']],
    [
      `"paypal" names no provider; there are ${providerNames.join(', ')}`,
      ['providers', TENANT, 'paypal'],
    ],
    ['"EUR" is not an ISO 4217 code in lower case', ['providers', TENANT, 'stripe:EUR']],
    ['stripe is named twice', ['providers', TENANT, 'stripe:eur', 'stripe']],
    ['providers takes the id of one tenant and names of providers', ['providers']],
    ['limits takes the id of one tenant', ['limits', TENANT, '5']],
    ['limits takes no --fixed', ['limits', TENANT, '--fixed', '5']],
    ["Unknown option '--force'", ['list', '--force']],
  ])('for "%s"', async (reason, args) => {
    const { code, text } = await runWithoutStore(args)

    expect(text).toContain(`tenants: ${reason}`)
    expect(text).toContain('Usage: npm run tenants')
    expect(code).toBe(2)
  })
})

describe('exits with 1 and a plain reason', () => {
  test.each([
    [`there is no tenant ${TENANT}`, ['keys', TENANT]],
    [`there is no tenant ${TENANT}`, ['disable', TENANT]],
    [`there is no tenant ${TENANT}`, ['limits', TENANT]],
    [`there is no key ${KEY}`, ['rotate-key', KEY]],
  ])('when %s', async (reason, args) => {
    expect(await run(args)).toEqual({ code: 1, text: `tenants: ${reason}` })
  })
})
