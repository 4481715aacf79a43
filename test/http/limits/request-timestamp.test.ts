// The optional Request-Timestamp: its signature, its maximum age, and the setting that requires it.
import { createHmac } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import { paymentBody, post, remove } from '../../support/client.ts'
import { anotherApi, limitedApi, tenantOf } from '../../support/for-file.ts'

const api = limitedApi()
const tenant = tenantOf(api)
const strict = anotherApi(api, { REQUEST_MAX_AGE_SECONDS: '10' })

const PATH = '/v1/payments'
const BODY = JSON.stringify(paymentBody())

/** Signs as a client would, following the documentation. */
function timestamp(
  secondsAgo = 0,
  signed = `POST.${PATH}.${BODY}`,
  secret = tenant.apiKey,
): string {
  const t = Math.floor(Date.now() / 1_000) - secondsAgo
  const v1 = createHmac('sha256', secret).update(`${t}.${signed}`).digest('hex')
  return `t=${t},v1=${v1}`
}

async function send(url: string, header: string | undefined, key?: string) {
  const headers: Record<string, string> =
    header === undefined ? {} : { 'request-timestamp': header }
  return await post(url, tenant, PATH, BODY, { headers, ...(key === undefined ? {} : { key }) })
}

describe('a request with a Request-Timestamp', () => {
  test('is served when the timestamp is valid', async () => {
    expect((await send(api.url, timestamp())).status).toBe(202)
    expect((await send(api.url, timestamp(200))).status).toBe(202)
    expect((await send(strict.url, timestamp())).status).toBe(202)
  })

  test.each([
    ['of another body', () => timestamp(0, `POST.${PATH}.{}`)],
    ['of another path', () => timestamp(0, `POST./v1/other.${BODY}`)],
    ['of another method', () => timestamp(0, `PUT.${PATH}.${BODY}`)],
    ['with another API key', () => timestamp(0, undefined, 'sk_test_of_another_tenant')],
    ['of another time', () => timestamp().replace(/t=\d/, 't=2')],
    ['in upper case', () => timestamp().toUpperCase()],
    ['that is empty', () => 't=,v1='],
    ['without a time', () => timestamp().replace(/^t=\d+,/, '')],
    ['twice in one line', () => `${timestamp()},${timestamp()}`],
  ])('is refused with a signature %s', async (_what, header) => {
    expect(await send(api.url, header())).toMatchObject({
      status: 400,
      json: { type: '/problems/request-timestamp-invalid' },
    })
  })

  test.each([400, -400])('is refused when it was made %d seconds ago', async (secondsAgo) => {
    const answer = await send(api.url, timestamp(secondsAgo))

    expect(answer).toMatchObject({ status: 400, json: { type: '/problems/request-too-old' } })
  })

  test('is refused after REQUEST_MAX_AGE_SECONDS, and its idempotency key stays unused', async () => {
    const refused = await send(strict.url, timestamp(20), 'again')
    const again = await send(strict.url, timestamp(), 'again')

    expect(refused.json).toMatchObject({ type: '/problems/request-too-old' })
    expect(again.status).toBe(202)
  })

  test('without a body signs an empty body', async () => {
    const path = '/v1/webhook-endpoints/we_1'
    const headers = { 'request-timestamp': timestamp(0, `DELETE.${path}.`) }

    const answer = await remove(strict.url, tenant, path, { headers })

    expect(answer.json).toMatchObject({ type: '/problems/resource-not-found' })
  })
})

test('a request without a Request-Timestamp is served only when the settings do not require one', async () => {
  expect((await send(api.url, undefined)).status).toBe(202)
  expect(await send(strict.url, undefined)).toMatchObject({
    status: 400,
    json: { type: '/problems/request-timestamp-missing' },
  })
})
