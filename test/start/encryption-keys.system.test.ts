// Tests that a process whose keys do not open what the database has stored refuses to start, and that
// `npm start` makes no new key then.
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Check } from '../../src/domain/deployment/check.ts'
import { paymentBody, post, postPayment, type ApiResponse } from '../support/client.ts'
import { encryptionKeyOf } from '../support/encryption.ts'
import { startProcess } from '../support/processes.ts'
import { startService, type OwnService, type Tenant } from '../support/service.ts'
import { launch, startStack } from '../support/stack.ts'
import { makeTemporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'

const OLD = encryptionKeyOf('old', 1)
const NEW = encryptionKeyOf('new', 2)
/** Another key that has the name of the lost one. */
const OTHER_OLD = encryptionKeyOf('old', 3)

const PROCESSES = ['src/start/api.ts', 'workers/main.ts', 'src/start/reconcile.ts']

async function run(script: string, service: OwnService, keys: string, args: string[] = []) {
  const process = startProcess(script, {
    args,
    env: {
      DATABASE_URL: service.databaseUrl,
      ENCRYPTION_KEYS: keys,
      STRIPE_SECRET_KEY: 'sk_test_mock',
      STRIPE_API_BASE: service.providerUrl,
      PORT: '0',
    },
  })
  // One that starts after all ends by a signal, and so without a code.
  void process.waitUntilReady().then(
    () => process.kill('SIGKILL'),
    () => {},
  )
  const { code } = await process.exited
  return { code, text: process.lines.join('\n') }
}

const seals = ({ store }: OwnService) => store.sql`
  select name, sealed from encryption_seals order by name
`

describe('a process', () => {
  let service: OwnService
  let tenant: Tenant
  const key = randomUUID()
  let paid: ApiResponse

  beforeAll(async () => {
    service = await startService({ ENCRYPTION_KEYS: OLD })
    tenant = await service.createTenant()
    paid = await postPayment(service.apiUrl, tenant, paymentBody(), { key })
    expect(paid.status).toBe(201)
  })
  afterAll(() => service.stop())

  const replay = async (keys: string) => {
    const { url } = await service.startApi({ ENCRYPTION_KEYS: keys })
    return await post(url, tenant, '/v1/payments', paymentBody(), { key })
  }

  test.each([
    ['another key of the same name', OTHER_OLD, 'its key old is not the one that encrypted'],
    ['a new key', NEW, 'it has no key with the name old'],
    ['a new key, not used yet', `plain,${NEW}`, 'it has no key with the name old'],
  ])('refuses to start with %s, and says what to do', async (_, keys, reason) => {
    const before = await seals(service)
    for (const script of PROCESSES) {
      const { code, text } = await run(script, service, keys)
      expect({ script, code }).toEqual({ script, code: script === PROCESSES[2] ? 2 : 1 })
      expect(text).toContain(
        `ENCRYPTION_KEYS does not open what the database has stored: ${reason}`,
      )
      expect(text).toContain('"A lost key" in docs/runbook.md')
      expect(text).not.toMatch(/enc\.v1|\n\s+at /)
    }
    const doctor = await run('src/start/doctor.ts', service, keys, ['--json'])
    expect(doctor.code).toBe(1)
    expect(JSON.parse(doctor.text) as Check[]).toContainEqual(
      expect.objectContaining({ name: 'encryption keys', verdict: 'failure', found: reason }),
    )
    expect(await seals(service)).toEqual(before)
  })

  test('refuses also when no process has sealed a text yet, by the values that are stored', async () => {
    for (const keys of [OTHER_OLD, NEW]) {
      await service.store.sql`delete from encryption_seals`
      expect(await run('src/start/api.ts', service, keys)).toMatchObject({
        code: 1,
        text: expect.stringContaining('does not open what the database has stored'),
      })
      expect(await seals(service)).toEqual([])
    }
    expect((await replay(OLD)).text).toBe(paid.text)
  })

  test('starts when one of the stored values opens, although others were changed', async () => {
    const { sql } = service.store
    await post(service.apiUrl, tenant, '/v1/webhook-endpoints', { url: 'https://a.example/' })
    const stored = await sql<{ id: string; body: string }[]>`
      select id, response_body as body from idempotency_keys
    `
    await sql`update idempotency_keys set response_body = left(response_body, -4)`
    await sql`delete from encryption_seals`

    const { url } = await service.startApi({ ENCRYPTION_KEYS: `plain,${OLD}` })

    // A key that only decrypts has a seal from then on, too.
    expect(await seals(service)).toMatchObject([{ name: 'old' }])
    expect((await post(url, tenant, '/v1/payments', paymentBody(), { key })).status).toBe(500)
    for (const { id, body } of stored) {
      await sql`update idempotency_keys set response_body = ${body} where id = ${id}`
    }
    expect((await post(url, tenant, '/v1/payments', paymentBody(), { key })).text).toBe(paid.text)
  })

  test('starts with the key at any place of the list, while a new one is introduced', async () => {
    for (const keys of [`${OLD},${NEW}`, `${NEW},${OLD}`, `plain,${NEW},${OLD}`]) {
      expect((await replay(keys)).text).toBe(paid.text)
    }
    expect(await run('src/start/api.ts', service, OLD)).toMatchObject({
      code: 1,
      text: expect.stringContaining('it has no key with the name new'),
    })
  })

  test('needs the old key no longer after a rotation, and the new one from then on', async () => {
    const rotation = 'src/start/rotate-encryption.ts'
    expect(await run(rotation, service, OTHER_OLD)).toMatchObject({
      code: 2,
      text: expect.stringContaining('its key old is not the one that encrypted'),
    })
    expect(await run(rotation, service, `${NEW},${OLD}`)).toMatchObject({ code: 0 })

    expect((await replay(NEW)).text).toBe(paid.text)
    expect(await run('src/start/api.ts', service, OLD)).toMatchObject({
      code: 1,
      text: expect.stringContaining('it has no key with the name new'),
    })
    const third = encryptionKeyOf('third', 4)
    expect(await run(rotation, service, `${third},${NEW}`)).toMatchObject({ code: 0 })
    expect(await seals(service)).toMatchObject([{ name: 'third' }])
  })
})

test('of two processes that start at once with different keys, one at most works', async () => {
  const service = await startService({ ENCRYPTION_KEYS: `plain,${OLD}` })
  try {
    const env = { DATABASE_URL: service.databaseUrl, PORT: '0' }
    for (const keys of [
      [OLD, OTHER_OLD],
      [OLD, NEW],
    ]) {
      await service.store.sql`delete from encryption_seals`
      const starts = keys.map((own) =>
        startProcess('src/start/api.ts', { env: { ...env, ENCRYPTION_KEYS: own } }),
      )
      const ready = await Promise.allSettled(starts.map((start) => start.waitUntilReady()))
      expect(ready.filter(({ status }) => status === 'fulfilled').length).toBeLessThan(2)
      for (const start of starts) {
        start.kill('SIGKILL')
        await start.exited
      }
    }
  } finally {
    await service.stop()
  }
})

describe('npm start', () => {
  test('makes no new key for a database that has values of a lost one', async () => {
    const folder = await makeTemporaryFolder()
    const own = { ENCRYPTION_KEYS: '' }
    const file = join(folder, 'data', 'encryption-keys')
    const stack = await startStack(folder, own)
    const key = randomUUID()
    const paid = await postPayment(stack.url, stack.tenant, paymentBody(), { key })
    const content = await readFile(file, 'utf8')
    const end = async (launcher = stack.launcher) => {
      launcher.kill('SIGTERM')
      await launcher.exited
    }
    await end()
    await rm(file)

    const refused = launch({ DATA_DIR: join(folder, 'data'), ...own })
    expect(await refused.exited).toEqual({ code: 1, signal: null })
    expect(refused.lines.at(-1)).toMatch(/encryption-keys is missing, but the database has values/)
    expect(existsSync(file)).toBe(false)

    await writeFile(file, encryptionKeyOf('local', 9))
    const replaced = launch({ DATA_DIR: join(folder, 'data'), ...own })
    await replaced.waitForLine((line) => line.includes('its key local is not the one'))
    expect(await replaced.exited).toEqual({ code: 1, signal: null })

    await writeFile(file, content)
    const again = await startStack(folder, own)
    const replayed = await until(() => postPayment(again.url, again.tenant, paymentBody(), { key }))
    expect(replayed.text).toBe(paid.text)
    await end(again.launcher)
  })
})
