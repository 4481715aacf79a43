import { globSync, readFileSync } from 'node:fs'
import { inspect, parseEnv } from 'node:util'
import { describe, expect, test } from '@jest/globals'
import { readSettingsExamples } from '../dev/docs/configuration-tables.ts'
import { ConfigError } from '../src/config-formats.ts'
import { configVariables, readConfig } from '../src/config.ts'

/** The error message of reading the settings. */
function errorOf(environment: NodeJS.ProcessEnv): string {
  try {
    readConfig(environment)
  } catch (error) {
    if (error instanceof ConfigError) return error.message
    throw error
  }
  throw new Error('the settings were accepted')
}

/** The value as written in an environment: lists with commas, and empty without a default. */
const textOf = (value: unknown): string =>
  Array.isArray(value) ? value.join(',') : JSON.stringify(value ?? '').replaceAll('"', '')

describe('.env.example', () => {
  const text = readSettingsExamples()
  const documented = parseEnv(text)
  const defaults: Readonly<Record<string, unknown>> = readConfig({})

  test('documents exactly the known variables', () => {
    expect(Object.keys(documented).toSorted()).toEqual(configVariables.toSorted())
  })

  test.each(configVariables)('contains the default of %s', (name) => {
    expect(documented[name]).toBe(textOf(defaults[name]))
  })

  test('sets the defaults when it is used unchanged', () => {
    expect(readConfig(documented)).toEqual(readConfig({}))
  })

  test.each(configVariables)('describes %s in one or two lines', (name) => {
    const paragraph = text.split('\n\n').find((part) => part.includes(`\n${name}=`))

    expect(paragraph).toMatch(/^(# [^\n]+\n){1,2}[A-Z_]+=[^\n]*\n?$/)
  })
})

const HUNTER = 'hunter2_8f3b61c97e0d54a2_hunter2'

/** 32 bytes. */
const HUNTER_KEY = btoa(`hunter2${'h'.repeat(25)}`)
const OTHER_KEY = btoa('o'.repeat(32))

/** Two keys, each with this prefix. */
function twoKeys(one: string, other: string): string {
  return `${one}adm_${HUNTER}1,${other}adm_${HUNTER}2`
}

describe('readConfig', () => {
  test('reads the variables that are set', () => {
    const config = readConfig({
      PORT: '8080',
      DATABASE_URL: 'postgresql://user:secret@db:5432/payments',
      STRIPE_SECRET_KEY: 'rk_test_1',
      STRIPE_API_BASE: 'http://127.0.0.1:3100',
      DEMO_API_KEY: 'sk_demo_123456',
      WAIT_SECONDS: '0.5',
      CARD_NUMBER_CHECK: 'payment_fields',
    })

    expect(config).toMatchObject({
      PORT: 8080,
      DATABASE_URL: 'postgresql://user:secret@db:5432/payments',
      STRIPE_SECRET_KEY: 'rk_test_1',
      STRIPE_API_BASE: 'http://127.0.0.1:3100',
      DEMO_API_KEY: 'sk_demo_123456',
      WAIT_SECONDS: 0.5,
      CARD_NUMBER_CHECK: 'payment_fields',
    })
  })

  test('accepts one operator without a name, or several with names', () => {
    const nameless = readConfig({ ADMIN_API_KEY: `adm_${HUNTER}` })
    const named = readConfig({
      ADMIN_API_KEY: twoKeys('alice=', 'bob='),
      ADMIN_DUAL_CONTROL: 'true',
    })

    expect(nameless.ADMIN_API_KEY).toEqual([
      { name: 'admin', role: 'operator', key: `adm_${HUNTER}` },
    ])
    expect(named.ADMIN_API_KEY).toEqual([
      { name: 'alice', role: 'operator', key: `adm_${HUNTER}1` },
      { name: 'bob', role: 'operator', key: `adm_${HUNTER}2` },
    ])
  })

  test.each([
    ['one operator', `alice=adm_${HUNTER}`],
    ['two keys of one operator', twoKeys('alice=', 'alice=')],
    ['an operator and a viewer', twoKeys('alice=', 'bob:viewer=')],
  ])('dual control needs two operators, not %s', (_, keys) => {
    const environment = { ADMIN_DUAL_CONTROL: 'true', ADMIN_API_KEY: keys }

    expect(errorOf(environment)).toContain('ADMIN_DUAL_CONTROL: needs at least two operators')
  })

  test('reads the roles of operators', () => {
    const { ADMIN_API_KEY } = readConfig({
      ADMIN_API_KEY: twoKeys('alice:operator=', 'bob:viewer='),
    })

    expect(ADMIN_API_KEY?.map(({ name, role }) => [name, role])).toEqual([
      ['alice', 'operator'],
      ['bob', 'viewer'],
    ])
  })

  test.each([
    ['two roles of one operator', twoKeys('bob=', 'bob:viewer='), 'must have the same role'],
    ['an unknown role', twoKeys('alice=', 'bob:owner='), 'must be adm_'],
    ['a role without a name', twoKeys('alice=', ':viewer='), 'must be adm_'],
  ])('refuses %s', (_, keys, reason) => {
    const error = errorOf({ ADMIN_API_KEY: keys })

    expect(error).toContain(`ADMIN_API_KEY: ${reason}`)
    expect(error).not.toContain(HUNTER)
  })

  test('the console needs operators', () => {
    expect(errorOf({ CONSOLE: 'on' })).toContain('CONSOLE: needs ADMIN_API_KEY')
    const { CONSOLE } = readConfig({ CONSOLE: 'on', ADMIN_API_KEY: `adm_${HUNTER}` })
    expect(CONSOLE).toBe('on')
  })

  test('accepts two keys of one operator, while they are rotated', () => {
    expect(readConfig({ ADMIN_API_KEY: twoKeys('bob=', 'bob=') }).ADMIN_API_KEY).toEqual([
      { name: 'bob', role: 'operator', key: `adm_${HUNTER}1` },
      { name: 'bob', role: 'operator', key: `adm_${HUNTER}2` },
    ])
  })

  test.each([
    ['all', ['payments', 'webhooks', 'maintenance']],
    ['webhooks', ['webhooks']],
    ['maintenance, payments', ['payments', 'maintenance']],
  ])('a worker works on %s', (text, groups) => {
    expect(readConfig({ WORKER_QUEUES: text }).WORKER_QUEUES).toEqual(groups)
  })

  test('accepts a number of proxies, or their networks', () => {
    expect(readConfig({ TRUST_PROXY: '2' }).TRUST_PROXY).toBe(2)
    expect(readConfig({ TRUST_PROXY: 'loopback, 10.0.0.0/8,2001:db8::/32' }).TRUST_PROXY).toEqual([
      'loopback',
      '10.0.0.0/8',
      '2001:db8::/32',
    ])
  })

  test('reads encryption keys without making their bytes readable', () => {
    const { ENCRYPTION_KEYS } = readConfig({
      ENCRYPTION_KEYS: `2026-11:${HUNTER_KEY}, old:${OTHER_KEY}`,
    })

    expect(ENCRYPTION_KEYS?.map(({ name }) => name)).toEqual(['2026-11', 'old'])
    for (const text of [JSON.stringify(ENCRYPTION_KEYS), inspect(ENCRYPTION_KEYS, { depth: 9 })]) {
      expect(text).not.toContain(HUNTER_KEY)
      expect(text).not.toContain('hunter2')
    }
  })

  test('treats empty variables as unset', () => {
    const empty = Object.fromEntries(configVariables.map((name) => [name, '']))

    expect(readConfig(empty)).toEqual(readConfig({}))
  })

  test('ignores other variables', () => {
    expect(readConfig({ PATH: '/bin', SOMETHING: 'else' })).toEqual(readConfig({}))
  })

  test.each([
    ['PORT', 'a text', 'three'],
    ['PORT', 'more than 16 bits', '65536'],
    ['LOG_LEVEL', 'no level', 'loud'],
    ['DATABASE_URL', 'the URL of another database', 'mysql://user:hunter2@db/payments'],
    ['DATABASE_POOL_SIZE', 'zero', '0'],
    ['STRIPE_SECRET_KEY', 'a publishable key', 'pk_test_hunter2'],
    ['STRIPE_API_BASE', 'another protocol', 'ftp://hunter2.example'],
    ['STRIPE_WEBHOOK_SECRET', 'a secret key', 'sk_test_hunter2'],
    ['DEMO_API_KEY', 'too short a key', 'sk_hunter2'],
    ['WORKER_QUEUES', 'an unknown group', 'payments,hunter2'],
    ['WORKER_QUEUES', 'all beside others', 'all,payments'],
    ['WORKER_QUEUES', 'a group twice', 'webhooks,webhooks'],
    ['TRUST_PROXY', 'every address', 'true'],
    ['TRUST_PROXY', 'too many proxies', '99'],
    ['TRUST_PROXY', 'a name', 'proxy.hunter2'],
    ['TRUST_PROXY', 'a network that is too long', '10.0.0.0/33'],
    ['WAIT_SECONDS', 'more than the longest wait', '31'],
    ['KEY_RETENTION_SECONDS', 'less than a day', '86399'],
    ['KEY_RETENTION_SECONDS_BY_OPERATION', 'no number', 'refund.create=hunter2'],
    ['KEY_RETENTION_SECONDS_BY_OPERATION', 'less than a day', 'refund.create=86399'],
    ['KEY_RETENTION_SECONDS_BY_OPERATION', 'twice the same', 'a.b=172800,a.b=172801'],
    ['PAYMENT_RETENTION_DAYS', 'shorter than a dispute may take', '399'],
    ['CARD_NUMBER_CHECK', 'a way that is none', 'hunter2'],
    ['WEBHOOK_ALLOW_INSECURE', 'neither yes nor no', 'hunter2'],
    ['ADMIN_API_KEY', "a tenant's key", 'sk_hunter2hunter2hunter2hunter2'],
    ['ADMIN_API_KEY', 'too short a key', 'adm_hunter2'],
    ['ADMIN_API_KEY', 'one character many times', `adm_${'h'.repeat(40)}`],
    ['ADMIN_API_KEY', 'words of a language', 'adm_hunter_correct_horse_battery'],
    ['ADMIN_API_KEY', 'a name without a key', `alice=,bob=adm_${'hunter2'.repeat(4)}`],
    ['ADMIN_API_KEY', 'a nameless key among others', twoKeys('', 'bob=')],
    ['ADMIN_API_KEY', 'one key of two names', `a=adm_${HUNTER},b=adm_${HUNTER}`],
    ['ADMIN_API_KEY', 'a reserved name', `reconciler=adm_${HUNTER}`],
    ['ADMIN_DUAL_CONTROL', 'set without operators', 'true'],
    ['ENCRYPTION_KEYS', 'a key without a name', HUNTER_KEY],
    ['ENCRYPTION_KEYS', 'a name with other characters', `hunter2.a:${HUNTER_KEY}`],
    ['ENCRYPTION_KEYS', 'two keys of one name', `a:${HUNTER_KEY},a:${OTHER_KEY}`],
    ['ENCRYPTION_KEYS', 'a name without a key', `hunter2:`],
    ['ENCRYPTION_KEYS', 'too short a key', `a:${btoa('hunter2'.repeat(4))}`],
    ['ENCRYPTION_KEYS', 'not base64', `a:hunter2!${HUNTER_KEY.slice(8)}`],
    ['ENCRYPTION_KEYS', 'no key behind another one', `a:${HUNTER_KEY},hunter2`],
  ])('refuses %s when it is %s, with its name and without its value', (name, _, value) => {
    const message = errorOf({ [name]: value })

    expect(message).toContain(`  ${name}: `)
    expect(message).not.toContain(value)
    expect(message).not.toContain('hunter2')
  })

  test('names every variable that is wrong at once', () => {
    const message = errorOf({ PORT: 'x', LOG_LEVEL: 'x', WORKER_CONCURRENCY: 'x' })

    expect(message).toMatch(/PORT: [^]*LOG_LEVEL: [^]*WORKER_CONCURRENCY: /)
  })

  test('a lease lasts for two calls, however long they may take', () => {
    expect(readConfig({ PROVIDER_TIMEOUT_MS: '10000' }).LEASE_MS).toBe(20_000)
    expect(readConfig({ PROVIDER_TIMEOUT_MS: '30000' }).LEASE_MS).toBe(60_000)
  })

  test('no message asks for a setting that is none', () => {
    const root = new URL('..', import.meta.url)
    const asked = globSync('{src,workers,extras,cli,mcp,dev}/**/*.ts', {
      cwd: root.pathname,
    }).flatMap((file) =>
      [...readFileSync(new URL(file, root), 'utf8').matchAll(/\bset ([A-Z]+_[A-Z_]+)=/g)].map(
        ([, name]) => name,
      ),
    )

    expect(asked).toContain('DATABASE_MAY_LOSE_COMMITS')
    expect(asked.filter((name) => !configVariables.includes(String(name)))).toEqual([])
  })

  test('constants are not read from the environment, but for tests', () => {
    const set = { CALL_ATTEMPTS: '5', CHECK_DELAYS_SECONDS: '0.5,2' }
    const flag = process.env['TEST_CONSTANTS']
    try {
      delete process.env['TEST_CONSTANTS']
      expect(readConfig(set)).toEqual(readConfig({}))
    } finally {
      process.env['TEST_CONSTANTS'] = flag
    }
    expect(readConfig(set)).toMatchObject({ CALL_ATTEMPTS: 5, CHECK_DELAYS_SECONDS: [0.5, 2] })
  })

  test('reads the retentions of single operations', () => {
    const text = 'refund.create=2592000, payment.capture=86400'

    expect(readConfig({ KEY_RETENTION_SECONDS_BY_OPERATION: text })).toMatchObject({
      KEY_RETENTION_SECONDS: 86_400,
      KEY_RETENTION_SECONDS_BY_OPERATION: { 'refund.create': 2_592_000, 'payment.capture': 86_400 },
    })
    expect(errorOf({ KEY_RETENTION_SECONDS_BY_OPERATION: 'a.b=86400,a.b=86401' })).toContain(
      'must have each operation once',
    )
  })

  test('the details of a payment stay as long as the stored answers that show it', () => {
    const PAYMENT_RETENTION_DAYS = '400'
    const message = errorOf({ PAYMENT_RETENTION_DAYS, KEY_RETENTION_SECONDS: String(401 * 86_400) })

    expect(message).toContain('PAYMENT_RETENTION_DAYS: must be 0, or cover KEY_RETENTION_SECONDS')
    expect(readConfig({ PAYMENT_RETENTION_DAYS: '0' }).PAYMENT_RETENTION_DAYS).toBe(0)
    expect(readConfig({ PAYMENT_RETENTION_DAYS }).PAYMENT_RETENTION_DAYS).toBe(400)
    const KEY_RETENTION_SECONDS_BY_OPERATION = `refund.create=${401 * 86_400}`
    expect(errorOf({ PAYMENT_RETENTION_DAYS, KEY_RETENTION_SECONDS_BY_OPERATION })).toBe(message)
  })

  test('the environment of the process is the default, and is never changed', () => {
    const before = { ...process.env }

    expect(readConfig()).toEqual(readConfig(before))
    expect(process.env).toEqual(before)
  })
})
