// Tests a worker whose secret key belongs to another account than the payments of its database.
import { randomUUID } from 'node:crypto'
import { expect, test } from '@jest/globals'
import { paymentBody, postPayment } from '../support/client.ts'
import { ownService, tenantOf } from '../support/for-file.ts'

const service = ownService({ JOB_RETRY_DELAY_SECONDS: '1' })
const tenant = tenantOf(service)

test('charges nothing there, and the payment waits for a worker with the right key', async () => {
  const pay = (key: string, prefer: string) =>
    postPayment(service.apiUrl, tenant, paymentBody(), { key, headers: { prefer } })
  expect((await pay(randomUUID(), 'wait=20')).status).toBe(201)
  const { length } = ((await service.control('GET', 'executed')) as { data: unknown[] }).data
  service.worker.kill('SIGTERM')
  await service.worker.exited
  const wrong = await service.startWorker({ STRIPE_SECRET_KEY: 'sk_test_acctother_1' })

  const key = randomUUID()
  expect((await pay(key, 'respond-async')).status).toBe(202)
  await wrong.waitForLine((line) => line.includes('belongs to acct_other test'))
  await wrong.waitForLine((line) => line.includes('given back'))
  wrong.kill('SIGTERM')
  await wrong.exited

  const { data } = (await service.control('GET', 'executed')) as { data: unknown[] }
  expect(data).toHaveLength(length)
  await service.startWorker()
  expect((await pay(key, 'wait=20')).status).toBe(201)
})
