import { describe, expect, test } from '@jest/globals'
import { Webhook } from 'standardwebhooks'
import { signatureHeaders } from '../../src/webhooks/deliver-webhook.ts'

const secrets = ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD']
const message = () => ({ id: 'evt_1', sentAt: new Date(), body: '{"name":"Zoë"}' })

describe('the signature headers', () => {
  test('match the example of the specification', () => {
    const sentAt = new Date('2026-01-01T00:00:00.900Z')
    expect(signatureHeaders({ ...message(), sentAt }, secrets.slice(0, 1))).toEqual({
      'webhook-id': 'evt_1',
      'webhook-timestamp': '1767225600',
      'webhook-signature': expect.stringMatching(/^v1,[A-Za-z0-9+/]{43}=$/),
    })
  })

  test.each(secrets)('contain a signature that %s verifies', (secret) => {
    const { body, ...rest } = message()
    const headers = signatureHeaders({ body, ...rest }, secrets)

    expect(headers['webhook-signature']?.split(' ')).toHaveLength(2)
    expect(new Webhook(secret).verify(body, headers)).toEqual({ name: 'Zoë' })
  })

  test('do not verify another body', () => {
    const headers = signatureHeaders(message(), secrets)
    expect(() => new Webhook(secrets[0] ?? '').verify('{}', headers)).toThrow(
      'No matching signature',
    )
  })
})
