// Card numbers and secrets in the text of requests: refused at every route, and stored nowhere.
import { readFileSync } from 'node:fs'
import { randomBytes, randomUUID } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import { parse } from 'yaml'
import { paymentBody, post, postPayment, type ApiResponse } from '../../support/client.ts'
import { limitedApi, tenantOf } from '../../support/for-file.ts'

const OPERATOR = `adm_${randomBytes(20).toString('hex')}`
const ENCRYPTION_KEY = randomBytes(32)

const api = limitedApi({
  ADMIN_API_KEY: OPERATOR,
  CONSOLE: 'on',
  ENCRYPTION_KEYS: `2026-11:${ENCRYPTION_KEY.toString('base64')}`,
})
const tenant = tenantOf(api)

const refusal = ({ status, json }: ApiResponse) => [
  status,
  String(json['type']).replace('/problems/', ''),
]
const inFours = (separator: string) => ['4242', '4242', '4242', '4242'].join(separator)

test('a card number is refused in every field and as the key', async () => {
  const [spaced, joined] = [inFours('\u00B7'), inFours('_')]
  const answers = [
    await postPayment(api.url, tenant, paymentBody({ description: spaced })),
    await postPayment(api.url, tenant, paymentBody({ metadata: { note: spaced } })),
    await postPayment(api.url, tenant, paymentBody({ reference: joined })),
    await postPayment(api.url, tenant, paymentBody(), { key: `order-${joined}` }),
  ]
  for (const answer of answers) {
    expect(refusal(answer)).toEqual([422, 'card-number-refused'])
    expect(answer.text).not.toContain('4242')
  }
})

const API_KEY = `sk_atomic_${randomBytes(19).toString('hex')}`
const WEBHOOK_SECRET = `whsec_${randomBytes(32).toString('base64')}`

const secrets: [what: string, text: string][] = [
  ['an API key', API_KEY],
  ['an operator key', `adm_${randomBytes(16).toString('hex')}`],
  ['a webhook secret', WEBHOOK_SECRET],
  ['a secret key of Stripe', `sk_live_${randomBytes(12).toString('hex')}`],
  ['a restricted key of Stripe', `rk_test_${randomBytes(12).toString('hex')}`],
  ['an encryption key', ENCRYPTION_KEY.toString('base64')],
  ['an encryption key with its name', `2026-11:${ENCRYPTION_KEY.toString('base64')}`],
  ['an encryption key in base64url', ENCRYPTION_KEY.toString('base64url')],
]

describe('a secret', () => {
  test.each(secrets)('%s is refused in every field and as the key', async (_what, secret) => {
    const answers = [
      await postPayment(api.url, tenant, paymentBody({ description: `key ${secret}, thanks` })),
      await postPayment(api.url, tenant, paymentBody({ reference: secret })),
      await postPayment(api.url, tenant, paymentBody({ metadata: { note: secret } })),
      await postPayment(api.url, tenant, paymentBody({ metadata: { [secret]: 'x' } })),
      await postPayment(api.url, tenant, paymentBody(), { key: secret }),
      await post(api.url, tenant, '/v1/webhook-endpoints', {
        url: `https://shop.example/hooks?token=${secret}`,
        event_types: ['payment.succeeded'],
      }),
    ]

    for (const answer of answers) {
      expect(refusal(answer)).toEqual([422, 'secret-refused'])
      expect(answer.text).not.toContain(secret)
    }
  })

  test.each([
    ['characters without width', API_KEY.replace('_', '\u200B_')],
    ['full-width letters', `\uFF53\uFF4B${API_KEY.slice(2)}`],
    ['a letter before it', `x${API_KEY}`],
  ])('with %s is refused', async (_what, secret) => {
    const answer = await postPayment(api.url, tenant, paymentBody({ description: secret }))

    expect(refusal(answer)).toEqual([422, 'secret-refused'])
  })

  test.each([
    ['the public prefix of an API key', 'sk_atomic_Ab12Cd'],
    ['a word that ends like one', 'task_test_aaaaaaaaaaaaaaaaaaaaaaaa'],
    ['a digest in base64', `sha-256=${randomBytes(32).toString('base64')}`],
    ['a UUID', randomUUID()],
    ['32 hex digits', randomBytes(16).toString('hex')],
    ['41 hex digits', randomBytes(21).toString('hex').slice(1)],
    ['a SHA-512', randomBytes(64).toString('hex')],
  ])('%s is none', async (_what, text) => {
    const body = paymentBody({ description: text, metadata: { text } })

    expect((await postPayment(api.url, tenant, body, { key: text })).status).toBe(202)
  })
})

describe('every route that takes a body', () => {
  const documented = ['openapi.yaml', 'openapi-operators.yaml'].flatMap((name) => {
    const text = readFileSync(new URL(`../../../${name}`, import.meta.url), 'utf8')
    const { paths: items } = parse(text) as {
      paths: Record<string, Record<string, { requestBody?: unknown }>>
    }
    return Object.entries(items)
  })
  /** The console's own take an operator key or words of a list. Of the provider's only ids are kept. */
  const others = /^\/(console|provider)\//
  const paths = documented
    .filter(([path, { post: operation }]) => !others.test(path) && operation?.requestBody)
    .map(([path]) => path)

  test('is many', () => {
    expect(paths.length).toBeGreaterThan(20)
  })

  test.each(paths)('refuses a secret and a card number at %s', async (path) => {
    const caller = path.startsWith('/v1/') ? tenant : { id: '', apiKey: OPERATOR }
    const url = path.replaceAll(/\{\w+\}/g, 'x')
    const ofSecret = await post(api.url, caller, url, { note: API_KEY })
    const ofCard = await post(api.url, caller, url, { note: inFours('.') })

    expect(refusal(ofSecret)).toEqual([422, 'secret-refused'])
    expect(refusal(ofCard)).toEqual([422, 'card-number-refused'])
  })
})

test('nothing of a refused request is stored', async () => {
  const { sql } = api.store
  const tables = await sql<{ name: string }[]>`
    select format('%I.%I', schemaname, tablename) as name from pg_tables
    where schemaname not in ('pg_catalog', 'information_schema')
  `
  for (const { name } of tables) {
    const found = await sql.unsafe(
      `select row_to_json(t)::text as row from ${name} as t
       where row_to_json(t)::text ~ '4242.{0,3}4242|sk_atomic_[0-9A-Za-z]{16}|whsec_[0-9A-Za-z]{24}|adm_[0-9A-Za-z]{24}'`,
    )
    expect([name, found]).toEqual([name, []])
  }
})
