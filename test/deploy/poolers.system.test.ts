// Tests the service behind a real PgBouncer: it pays, also in transaction mode.
import { randomUUID } from 'node:crypto'
import { expect } from '@jest/globals'
import { paymentBody, post, postPayment, read, type ApiResponse } from '../support/client.ts'
import { fetchApi } from '../support/documented.ts'
import { createTestDatabase } from '../support/database.ts'
import { startPgBouncer } from '../support/pgbouncer.ts'
import { testBehindPgBouncer } from '../support/test-behind-pgbouncer.ts'
import { startProcess, type ServiceProcess } from '../support/processes.ts'
import { listeningUrl } from '../support/service-parts.ts'
import { startService, type Tenant } from '../support/service.ts'
import { until } from '../support/until.ts'

const TENANTS = 5
const REQUESTS = 500

/** Tries again under the same key while a busy machine is too slow, and until the payment has succeeded. */
async function pay(url: string, tenant: Tenant, amount: number): Promise<ApiResponse> {
  const key = randomUUID()
  return await until(async () => {
    const answer = await postPayment(url, tenant, paymentBody({ amount }), { key })
    return ![202, 409, 503].includes(answer.status) && answer
  })
}

testBehindPgBouncer.each(['session', 'transaction'])(
  'pays and refunds behind a pooler in %s mode: racing requests of several tenants',
  async (mode) => {
    const database = await createTestDatabase()
    const pooler = await startPgBouncer(database.url, { pool_mode: mode, default_pool_size: 100 })
    const service = await startService(
      { DATABASE_URL: pooler.url, RATE_LIMIT_WRITES: '0', MAX_ACTIVE_KEYS: '0' },
      database.url,
    )
    const tenants = await Promise.all(Array.from({ length: TENANTS }, () => service.createTenant()))

    const requests = Array.from({ length: REQUESTS }, (_, number) => ({
      tenant: tenants[number % TENANTS] as Tenant,
      amount: 100 + number,
    }))
    const payments = await Promise.all(
      requests.map(({ tenant, amount }) => pay(service.apiUrl, tenant, amount)),
    )

    expect(payments.map(({ status, json }) => [status, json['amount']])).toEqual(
      requests.map(({ amount }) => [201, amount]),
    )
    const [first] = payments
    const path = `/v1/payments/${String(first?.json['id'])}/refunds`
    expect((await post(service.apiUrl, tenants[0] as Tenant, path, {})).status).toBe(201)
    expect((await fetchApi(`${service.apiUrl}/readyz`)).status).toBe(200)

    await service.stop()
    await pooler.stop()
    await database.drop()
  },
)

testBehindPgBouncer('does not work behind a pooler in statement mode, and says why', async () => {
  const database = await createTestDatabase()
  const pooler = await startPgBouncer(database.url, { pool_mode: 'statement' })
  const env = { DATABASE_URL: pooler.url, STRIPE_SECRET_KEY: 'sk_test_mock', PORT: '0' }
  const [api, worker] = ['src/start/api.ts', 'workers/main.ts'].map((script) =>
    startProcess(script, { env }),
  ) as [ServiceProcess, ServiceProcess]

  const ready = await read(await fetchApi(`${await listeningUrl(api)}/readyz`))
  expect(ready).toMatchObject({
    status: 503,
    json: {
      status: 'unavailable',
      checks: { database: 'unusable', migrations: 'unknown' },
      reason: expect.stringContaining('Use its transaction mode') as unknown,
    },
  })
  expect((await worker.exited).code).toBe(1)
  expect(worker.lines.at(-1)).toMatch(/^worker: A pooler .* Use its transaction mode/)
  api.kill('SIGKILL')
  await api.exited
  await pooler.stop()
  await database.drop()
})
