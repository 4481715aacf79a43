// Tests `npm run rotate-encryption` as a process, beside a service that reads and writes.
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { pino } from 'pino'
import { Webhook } from 'standardwebhooks'
import { get, paymentBody, post, postPayment, type ApiResponse } from '../support/client.ts'
import { inTransaction } from '../../src/db/connection/transaction.ts'
import { encryptionKeys, ConfigError } from '../../src/config-formats.ts'
import { readConfig } from '../../src/config.ts'
import { requireStoredKeys } from '../../src/encryption/seals.ts'
import { wireApi, wireWorkerBase } from '../../src/wiring.ts'
import { encryptionKeyOf, ENCRYPTION_KEYS, useKeys } from '../support/encryption.ts'
import { startLimitedApiOn, type LimitedApi } from '../support/limited-api.ts'
import { startProcess } from '../support/processes.ts'
import { startReceiver, type Receiver } from '../support/receiver.ts'
import { startService, type OwnService, type Tenant } from '../support/service.ts'
import { until } from '../support/until.ts'

const FIRST = encryptionKeyOf('first', 1)
const SECOND = encryptionKeyOf('second', 2)
const THIRD = encryptionKeyOf('third', 3)

const SETTINGS = { WEBHOOK_ALLOW_INSECURE: 'true' }

let service: OwnService
/** APIs in this process, on the database of the service. */
let apis: LimitedApi
let tenant: Tenant
let receiver: Receiver
/** What clients were told, by the path and the key of their requests. */
const answers: { path: string; body: unknown; key: string; answer: ApiResponse }[] = []
let secrets: string[]
let waiting: string

async function ask(path: string, body?: unknown): Promise<ApiResponse> {
  const key = randomUUID()
  const answer = await post(service.apiUrl, tenant, path, body, { key })
  answers.push({ path, body, key, answer })
  return answer
}

beforeAll(async () => {
  receiver = await startReceiver()
  service = await startService({ ...SETTINGS, ENCRYPTION_KEYS: `${FIRST},${SECOND},${THIRD}` })
  apis = await startLimitedApiOn(service.databaseUrl)
  tenant = await service.createTenant()
  const hook = { url: receiver.url, event_types: ['payment.succeeded'] }
  const endpoint = await ask('/v1/webhook-endpoints', hook)
  const { id } = endpoint.json as { id: string }
  const rotated = await ask(`/v1/webhook-endpoints/${id}/rotate-secret`)
  const body = paymentBody({ payment_method: 'pm_card_threeDSecure2Required' })
  const payment = await ask('/v1/payments', body)
  await ask('/v1/payments', paymentBody())
  const action = payment.json['next_action'] as { client_secret: string }
  waiting = String(payment.json['id'])
  secrets = [endpoint.json['secret'], rotated.json['secret'], action.client_secret].map(String)
})
afterEach(() => useKeys(ENCRYPTION_KEYS))
afterAll(async () => {
  await apis.stop()
  await service.stop()
  await receiver.stop()
})

async function rotate(keys: string | undefined, args: string[] = [], url = service.databaseUrl) {
  const process = startProcess('src/start/rotate-encryption.ts', {
    args,
    env: { DATABASE_URL: url, ENCRYPTION_KEYS: keys ?? '' },
  })
  const { code } = await process.exited
  return { code, text: process.lines.join('\n') }
}

/** Starts an API with these keys. Only the last one works: a process has one list of keys. */
async function serve(keys: string) {
  await requireStoredKeys(service.store.sql, encryptionKeys.parse(keys))
  return await apis.serve({ ...SETTINGS, ENCRYPTION_KEYS: keys, WAIT_SECONDS: '20' })
}

const seals = () => service.store.sql`select name from encryption_seals order by name`

/** The number of values in all tables that have one of the texts. A seal is of no tenant. */
async function countTexts(texts: readonly string[]): Promise<number> {
  const { sql } = service.store
  const tables = await sql<{ name: string }[]>`
    select oid::regclass::text as name from pg_class
    where relkind = 'r' and relnamespace::regnamespace::text in ('public', 'atomic_jobs')
      and relname <> 'encryption_seals'
  `
  let found = 0
  for (const { name } of tables) {
    const rows = await sql.unsafe<{ row: string }[]>(`select t::text as row from ${name} t`)
    found += rows.filter(({ row }) => texts.some((text) => row.includes(text))).length
  }
  return found
}

/** Repeats each request, and expects its first answer byte for byte. */
async function expectReplays(apiUrl: string, of = answers): Promise<void> {
  for (const { path, body, key, answer } of of) {
    const replayed = await post(apiUrl, tenant, path, body, { key })
    expect(replayed.headers.get('idempotent-replayed')).toBe('true')
    expect([replayed.status, replayed.text]).toEqual([answer.status, answer.text])
  }
}

test('no table has a secret, and --check finds that no other key is needed', async () => {
  const { code, text } = await rotate(FIRST, ['--check'])

  expect({ code, text }).toEqual({
    code: 0,
    text: 'Everything is encrypted with the key first. No other key is needed.',
  })
  expect(await countTexts(secrets)).toBe(0)
  expect(await countTexts(['enc.v1.first.'])).toBe(7)
})

test('encrypts all values with another key, and replays stay the same', async () => {
  const { code, text } = await rotate(`${THIRD},${FIRST}`)

  expect({ code, text }).toMatchObject({ code: 0 })
  expect(text.split('\n')).toEqual([
    'webhook_endpoints.secret: changed 1.',
    'webhook_endpoints.previous_secret: changed 1.',
    'webhook_endpoints.second_previous_secret: changed 0.',
    'webhook_endpoints.third_previous_secret: changed 0.',
    'payments.client_secret: changed 1.',
    'events.object: changed 1.',
    'idempotency_keys.response_body: changed 4.',
    'Everything is encrypted with the key third. No other key is needed.',
  ])
  expect(await countTexts(['enc.v1.first.'])).toBe(0)
  expect(await countTexts(['enc.v1.third.'])).toBe(7)
  await expectReplays(service.apiUrl)
  expect(await rotate(`${FIRST},${THIRD}`)).toMatchObject({ code: 0 })
})

describe('with a new key before the old one', () => {
  test('--check names the old key, also after new values were written with it', async () => {
    const { code, text } = await rotate(`${SECOND},${FIRST}`, ['--check'])

    expect({ code, text }).toEqual({
      code: 1,
      text: 'Not everything is encrypted with the key second:\n  with the key first: 8',
    })
  })

  test('values of a key that is missing stay, and are counted', async () => {
    const { code, text } = await rotate(SECOND)

    expect(code).toBe(1)
    expect(text).toContain('idempotency_keys.response_body: changed 0.')
    expect(text).toContain('  with the key first: 8')
    expect(await countTexts(['enc.v1.first.'])).toBe(7)
    expect(await seals()).toMatchObject([{ name: 'first' }, { name: 'second' }])
  })

  const STOPS = 'rotate-encryption: stops after this batch'

  test('stops on SIGTERM behind the batch that it writes, and goes on when it runs again', async () => {
    const { sql } = service.store
    const keys = `${SECOND},${FIRST}`
    const command = await inTransaction(sql, async (tx) => {
      await tx`select from webhook_endpoints for update`
      const env = { DATABASE_URL: service.databaseUrl, ENCRYPTION_KEYS: keys }
      const started = startProcess('src/start/rotate-encryption.ts', { env })
      await until(async () => {
        // Within a transaction this view would not change.
        const waits = await sql`
          select from pg_stat_activity
          where application_name = 'atomic-payments rotate-encryption' and wait_event_type = 'Lock'
            and datname = current_database()
        `
        return waits.length === 1
      })
      started.kill('SIGTERM')
      await started.waitForLine((line) => line === STOPS)
      return started
    })

    expect(await command.exited).toEqual({ code: 2, signal: null })
    expect(command.lines).toEqual([
      STOPS,
      'webhook_endpoints.secret: changed 1.',
      'rotate-encryption: interrupted; run it again to go on',
    ])
    const [endpoint] = await sql`select secret, previous_secret from webhook_endpoints`
    expect(endpoint).toMatchObject({
      secret: expect.stringMatching(/^enc\.v1\.second\./),
      previous_secret: expect.stringMatching(/^enc\.v1\.first\./),
    })
    expect(await rotate(keys)).toMatchObject({
      code: 0,
      text: expect.stringContaining('webhook_endpoints.secret: changed 0.'),
    })
  })

  test('encrypts again while clients pay, rotate and replay', async () => {
    const stop = new AbortController()
    const id = String(answers[0]?.answer.json['id'])
    const { url } = await serve(`${FIRST},${SECOND}`)
    const send = async (path: string, body?: object) => {
      const key = randomUUID()
      answers.push({ path, body, key, answer: await post(url, tenant, path, body, { key }) })
    }
    // Every answer is replayed at the end: here only some, so that there are not too many.
    const use = async () => {
      for (let replayed = 0; !stop.signal.aborted; replayed += 2) {
        await send('/v1/payments', paymentBody())
        await send(`/v1/webhook-endpoints/${id}/rotate-secret`)
        await expectReplays(url, answers.slice(replayed, replayed + 2))
      }
    }
    const load = use()

    for (let run = 0; run < 2; run += 1) {
      // Values that the API writes meanwhile are left.
      const { code, text } = await rotate(`${SECOND},${FIRST}`)
      expect({ code, text }).not.toMatchObject({ code: 2 })
    }
    stop.abort()
    await load
    const last = await rotate(`${SECOND},${FIRST}`)

    expect(last).toMatchObject({ code: 0 })
    expect(await countTexts(['enc.v1.first.'])).toBe(0)
    // The first key is not needed any longer, and the second one is from then on.
    expect(await seals()).toMatchObject([{ name: 'second' }])
    await expectReplays((await serve(SECOND)).url)
    await expect(serve(FIRST)).rejects.toThrow('it has no key with the name second')
    await expectReplays(service.apiUrl)
    expect(answers.length).toBeGreaterThan(10)
  })
})

describe('a process whose keys lack one', () => {
  test('does not start without any', async () => {
    const config = readConfig({ DATABASE_URL: service.databaseUrl })
    const log = pino({ level: 'silent' })
    const reason = 'ENCRYPTION_KEYS is not set; `npm start` generates a key'

    await expect(wireApi(config, log)).rejects.toThrow(new ConfigError(reason))
    expect(() => wireWorkerBase(config, log)).toThrow(new ConfigError(reason))
  })

  test('answers 500 without a detail after the loss of the key was accepted, and serves everything else', async () => {
    await service.store.sql`update encryption_seals set sealed = null where name = 'second'`
    const { url, process } = await service.startApi({ ENCRYPTION_KEYS: FIRST })
    const { path = '', body, key = '', answer } = answers[0] ?? {}

    const failed = await post(url, tenant, path, body, { key })
    const line = await process.waitForLine((candidate) =>
      candidate.includes('no key with the name'),
    )

    expect(failed).toMatchObject({ status: 500, json: { type: expect.stringMatching(/internal/) } })
    expect(failed.text).not.toMatch(/second|enc\.v1|ENCRYPTION/)
    expect(line).toContain('ENCRYPTION_KEYS has no key with the name second')
    expect((await get(url, tenant, `/v1/payments/${waiting}`)).status).toBe(500)
    expect((await get(url, tenant, `/v1/idempotency-keys/${key}`)).status).toBe(200)
    expect((await postPayment(url, tenant)).status).toBe(201)

    const { url: whole } = await serve(`${FIRST},${SECOND}`)
    expect((await post(whole, tenant, path, body, { key })).text).toBe(answer?.text)
  })
})

test('webhooks are signed with the secrets that the tenant was given', async () => {
  const { json } = await postPayment(service.apiUrl, tenant)
  const received = await until(() =>
    Promise.resolve(receiver.received.find(({ body }) => body.includes(String(json['id'])))),
  )
  const current = answers.findLast(({ path }) => path.endsWith('/rotate-secret'))
  const webhook = new Webhook(String(current?.answer.json['secret']))

  expect(() => webhook.verify(received.body, received.headers)).not.toThrow()
})

describe('the command', () => {
  test('shows its usage', async () => {
    expect(await rotate(FIRST, ['--help'])).toMatchObject({
      code: 0,
      text: expect.stringContaining('Usage: npm run rotate-encryption'),
    })
    expect(await rotate(FIRST, ['--chekc'])).toMatchObject({
      code: 2,
      text: expect.stringMatching(/Unknown option '--chekc'[^]*Usage: npm run rotate-encryption/),
    })
  })

  test('needs keys and a database', async () => {
    expect(await rotate(undefined)).toEqual({
      code: 2,
      text: 'rotate-encryption: ENCRYPTION_KEYS is not set; `npm start` generates a key',
    })
    const nowhere = 'postgres://nobody@127.0.0.1:9/none'
    expect(await rotate(FIRST, [], nowhere)).toMatchObject({
      code: 2,
      text: expect.stringContaining('rotate-encryption: '),
    })
    expect((await rotate(FIRST, [], '')).text).toContain('DATABASE_URL is not set')
  })
})
