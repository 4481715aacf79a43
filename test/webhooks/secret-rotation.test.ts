// Tests which secrets sign after rotations, as a receiver sees it.
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { Webhook } from 'standardwebhooks'
import { post, remove } from '../support/client.ts'
import { startReceiver, type Receiver } from '../support/receiver.ts'
import { service, tenant } from '../support/shared-service.ts'

let receiver: Receiver
let path: string
/** Newest first. */
let secrets: string[]

beforeEach(async () => {
  receiver = await startReceiver()
  const { headers, json } = await post(service.apiUrl, tenant, '/v1/webhook-endpoints', {
    url: receiver.url,
  })
  path = headers.get('location') ?? ''
  secrets = [String(json['secret'])]
})
afterEach(async () => {
  await remove(service.apiUrl, tenant, path)
  await receiver.stop()
})

async function rotate(times: number): Promise<void> {
  for (let time = 0; time < times; time += 1) {
    const { json } = await post(service.apiUrl, tenant, `${path}/rotate-secret`)
    secrets.unshift(String(json['secret']))
  }
}

/** How many signatures the next webhook has: one of each of the newest secrets, the newest first. */
async function countSigning(): Promise<number> {
  const before = receiver.received.length
  await post(service.apiUrl, tenant, `${path}/test`)
  const request = (await receiver.waitFor(before + 1)).at(-1)
  const signatures = request?.headers['webhook-signature']?.split(' ') ?? []
  for (const [place, signature] of signatures.entries()) {
    const headers = { ...request?.headers, 'webhook-signature': signature }
    expect(new Webhook(secrets[place] ?? '').verify(request?.body ?? '', headers)).toMatchObject({
      type: 'webhook_endpoint.test',
    })
  }
  return signatures.length
}

/** Moves the rotations into the past. */
const age = (hours: number) => service.store.sql`
  update webhook_endpoints set
    previous_secret_expires_at = previous_secret_expires_at - ${hours} * interval '1 hour',
    second_previous_secret_expires_at =
      second_previous_secret_expires_at - ${hours} * interval '1 hour',
    third_previous_secret_expires_at =
      third_previous_secret_expires_at - ${hours} * interval '1 hour'
  where tenant_id = ${tenant.id}
`

test('the newest secret signs, and those of the last three rotations within a day', async () => {
  const counts: number[] = []
  for (let rotations = 0; rotations <= 4; rotations += 1) {
    counts.push(await countSigning())
    await rotate(1)
  }

  expect(counts).toEqual([1, 2, 3, 4, 4])
})

test('each secret signs for a day after its own rotation', async () => {
  await rotate(1)
  await age(10)
  await rotate(1)
  await age(10)
  await rotate(1)
  expect(await countSigning()).toBe(4)

  await age(5)
  expect(await countSigning()).toBe(3)
  await age(10)
  expect(await countSigning()).toBe(2)
  await age(10)
  expect(await countSigning()).toBe(1)
})

test('no secret of a deleted endpoint stays', async () => {
  await rotate(4)
  const readRow = async () => {
    const [row] = await service.store.sql<{ text: string }[]>`
      select endpoint::text as text from webhook_endpoints as endpoint
      where tenant_id = ${tenant.id} order by id desc limit 1
    `
    return row?.text ?? ''
  }
  expect((await readRow()).split('enc.v1.')).toHaveLength(5)

  await remove(service.apiUrl, tenant, path)

  expect(await readRow()).toContain('deleted')
  expect(await readRow()).not.toMatch(/enc\.v1\.|whsec_/)
})
