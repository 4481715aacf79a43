// Tests the service behind a real PgBouncer: in session mode it pays, in transaction mode it refuses
// to work and says why.
import { expect } from '@jest/globals'
import { post, postPayment, read } from '../support/client.ts'
import { fetchApi } from '../support/documented.ts'
import { createTestDatabase } from '../support/database.ts'
import { startPgBouncer } from '../support/pgbouncer.ts'
import { testBehindPgBouncer } from '../support/test-behind-pgbouncer.ts'
import { startScript } from '../support/start-script.ts'
import { startService } from '../support/service.ts'

const PAYMENTS = 20
/** In this many requests, answers were once mixed up in more than half of the cases. */
const REQUESTS = 180

testBehindPgBouncer('pays and refunds behind a pooler in session mode', async () => {
  const database = await createTestDatabase()
  const pooler = await startPgBouncer(database.url, { pool_mode: 'session' })
  const service = await startService({ DATABASE_URL: pooler.url }, database.url)
  const tenant = await service.createTenant()

  const amounts = Array.from({ length: PAYMENTS }, (_, number) => 100 + number)
  const payments = await Promise.all(
    amounts.map((amount) =>
      postPayment(service.apiUrl, tenant, {
        amount,
        currency: 'usd',
        payment_method: 'pm_card_visa',
      }),
    ),
  )
  expect(payments.map(({ status, json }) => [status, json['amount']])).toEqual(
    amounts.map((amount) => [201, amount]),
  )
  const path = `/v1/payments/${String(payments[0]?.json['id'])}/refunds`
  expect((await post(service.apiUrl, tenant, path, {})).status).toBe(201)
  expect((await fetchApi(`${service.apiUrl}/readyz`)).status).toBe(200)

  await service.stop()
  await pooler.stop()
  await database.drop()
})

testBehindPgBouncer('neither accepts nor pays behind a pooler in transaction mode', async () => {
  const service = await startService()
  const tenant = await service.createTenant()
  const pooler = await startPgBouncer(service.databaseUrl, { pool_mode: 'transaction' })
  const { url } = await service.startApi({ DATABASE_URL: pooler.url })

  const answers = await Promise.all(
    Array.from({ length: REQUESTS }, () => postPayment(url, tenant)),
  )
  expect(new Set(answers.map(({ status, json }) => `${status} ${String(json['type'])}`))).toEqual(
    new Set([expect.stringMatching(/^503 .*store-unavailable$/)]),
  )
  const ready = await read(await fetchApi(`${url}/readyz`))
  expect(ready).toMatchObject({
    status: 503,
    json: {
      status: 'unavailable',
      checks: { database: 'unusable', migrations: 'unknown' },
      reason: expect.stringContaining('pool_mode = session') as unknown,
    },
  })
  const worker = startScript('workers/main.ts', {
    env: { DATABASE_URL: pooler.url, STRIPE_SECRET_KEY: 'sk_test_mock' },
  })
  expect((await worker.exited).code).toBe(1)
  expect(worker.lines.at(-1)).toMatch(/^worker: A pooler .* pool_mode = session/)

  const { sql } = service.store
  expect(await sql`select from idempotency_keys`).toEqual([])
  expect(await service.control('GET', 'executed')).toEqual({ data: [] })
  await service.stop()
  await pooler.stop()
})
