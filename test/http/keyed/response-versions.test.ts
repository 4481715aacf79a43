// Stored responses of another version, in the middle of a deployment.
import { randomUUID } from 'node:crypto'
import { expect, test } from '@jest/globals'
import { paymentBody, post, postPayment } from '../../support/client.ts'
import { service, tenant } from '../../support/shared-service.ts'
import { executedKinds, expectProblem, expectReplay, keyedRequests } from '../payments.ts'

async function readVersion(key: string): Promise<unknown> {
  const [row] = await service.store.sql`
    select response_version from idempotency_keys where tenant_id = ${tenant.id} and key = ${key}
  `
  return row?.['response_version']
}

async function setVersion(key: string, version: number): Promise<void> {
  await service.store.sql`
    update idempotency_keys set response_version = ${version}
    where tenant_id = ${tenant.id} and key = ${key}
  `
}

test.each(keyedRequests)('%s is stored with the current version', async (_, makePath, body) => {
  const path = await makePath(service, tenant)
  const key = randomUUID()
  await post(service.apiUrl, tenant, path, body, { key })

  expect(await readVersion(key)).toBe(2)
})

test('so is the answer of a key that is canceled before its request', async () => {
  const key = randomUUID()
  await post(service.apiUrl, tenant, `/v1/idempotency-keys/${key}/cancel`)

  expect(await readVersion(key)).toBe(2)
})

test.each(keyedRequests)(
  '%s of an older version is replayed byte for byte',
  async (_, makePath, body) => {
    const path = await makePath(service, tenant)
    const key = randomUUID()
    const first = await post(service.apiUrl, tenant, path, body, { key })
    await setVersion(key, 1)

    expectReplay(await post(service.apiUrl, tenant, path, body, { key }), first)
    expect(await readVersion(key)).toBe(1)
  },
)

test.each(keyedRequests)(
  '%s of a newer version is not guessed: 503, until a process can read it',
  async (_, makePath, body) => {
    const path = await makePath(service, tenant)
    const key = randomUUID()
    const first = await post(service.apiUrl, tenant, path, body, { key })
    await setVersion(key, 3)

    const refused = await post(service.apiUrl, tenant, path, body, { key })
    await setVersion(key, 2)

    expectProblem(refused, 'store-unavailable')
    expect(refused.headers.has('idempotency-key-expires')).toBe(true)
    expect(refused.headers.get('retry-after')).toMatch(/^[12]$/)
    expect(refused.headers.has('idempotent-replayed')).toBe(false)
    expectReplay(await post(service.apiUrl, tenant, path, body, { key }), first)
  },
)

test('a payment whose response cannot be read is not made again', async () => {
  const key = randomUUID()
  const first = await postPayment(service.apiUrl, tenant, paymentBody(), { key })
  await setVersion(key, 3)

  await postPayment(service.apiUrl, tenant, paymentBody(), { key })

  expect(await executedKinds(service, first.json as { id: string })).toHaveLength(2)
})
