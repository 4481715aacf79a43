import { randomUUID } from 'node:crypto'
import { afterEach, beforeAll, expect, test } from '@jest/globals'
import { clientSecret, responseBody } from '../../src/encryption/encryption.ts'
import { findIdle } from '../../src/db/idempotency/idempotency-keys.ts'
import { findPayment } from '../../src/db/payments/payments.ts'
import { encryptionKeyOf, ENCRYPTION_KEYS, useKeys } from '../support/encryption.ts'
import { store } from '../support/own-store.ts'

const OTHER = encryptionKeyOf('other', 1)
const NOT_THERE = 'ENCRYPTION_KEYS has no key with the name other'

let tenantId: string

beforeAll(async () => {
  tenantId = randomUUID()
  await store.sql`insert into tenants (id, name) values (${tenantId}, 'test')`
})
afterEach(() => useKeys(ENCRYPTION_KEYS))
/** Inserts a completed operation whose response is stored like this. */
async function insertCompleted(encrypt: (row: { tenantId: string; id: string }) => string) {
  const row = { tenantId, id: randomUUID() }
  await store.sql`
    insert into idempotency_keys (
      tenant_id, id, key, fingerprint, operation, status, recovery_point, expires_at,
      response_status, response_headers, response_body, finished_at
    )
    values (
      ${tenantId}, ${row.id}, ${row.id}, ${Buffer.alloc(32)}, 'webhook_endpoint.create',
      'completed', 'finished', now(), 201, '{}', ${encrypt(row)}, now()
    )
  `
  return row
}

test('a response that cannot be decrypted keeps no other request from its answer', async () => {
  const own = await insertCompleted((row) => responseBody.encrypt(row, '{"own": 1}'))
  const plain = await insertCompleted(() => '{"plain": 1}')
  useKeys(`${OTHER},${ENCRYPTION_KEYS}`)
  const broken = await insertCompleted((row) => responseBody.encrypt(row, '{"broken": 1}'))
  useKeys(ENCRYPTION_KEYS)

  const found = await findIdle(store.sql, [own, plain, broken])
  const responseOf = ({ id }: { id: string }) => found.find((key) => key.id === id)?.response

  expect(found).toHaveLength(3)
  expect(responseOf(own)?.body).toBe('{"own": 1}')
  expect(responseOf(plain)?.body).toBe('{"plain": 1}')
  expect(() => responseOf(broken)?.body).toThrow(NOT_THERE)
})

test('a payment whose client secret cannot be decrypted is read without it', async () => {
  const id = randomUUID()
  useKeys(`${OTHER},${ENCRYPTION_KEYS}`)
  await store.sql`
    insert into payments (
      tenant_id, id, amount_minor, currency, capture_method, payment_method, metadata, provider,
      client_secret
    )
    values (
      ${tenantId}, ${id}, 100, 'usd', 'automatic', 'pm_card_visa', '{}', 'stripe',
      ${clientSecret.encrypt({ tenantId, id }, 'pi_1_secret_1')}
    )
  `
  useKeys(ENCRYPTION_KEYS)

  const payment = await findPayment(store.sql, tenantId, id)

  expect(payment?.amountMinor).toBe(100)
  expect(() => payment?.clientSecret).toThrow(NOT_THERE)
})
