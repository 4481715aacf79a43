import { describe, expect, test } from '@jest/globals'
import { checkWebhookUrl, hostOf } from '../../../src/domain/webhooks/dialable-address.ts'

const strict = { allowInsecure: false }
const local = { allowInsecure: true }

describe('a URL is accepted', () => {
  test.each([
    'https://merchant.example/webhooks',
    'https://merchant.example',
    'https://merchant.example:8443/webhooks?for=payments',
    'https://93.184.215.14/',
    'https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/',
  ])('%s', (text) => {
    expect(checkWebhookUrl(text, strict)).toEqual({ url: new URL(text) })
  })
})

describe('a URL is refused', () => {
  test.each([
    ['nothing', '', 'absolute URL'],
    ['a path', '/webhooks', 'absolute URL'],
    ['a name alone', 'merchant.example', 'absolute URL'],
    ['an invalid address', 'https://256.256.256.256/', 'absolute URL'],
    ['http', 'http://merchant.example/', 'https'],
    ['ftp', 'ftp://merchant.example/', 'https'],
    ['a file', 'file:///etc/passwd', 'https'],
    ['a user', 'https://user@merchant.example/', 'credentials'],
    ['a password', 'https://:secret@merchant.example/', 'credentials'],
    ['a fragment', 'https://merchant.example/#here', 'fragment'],
    ...['\0', '\t', '\n', '\r', '\x1b', '\x7f', '\x85'].flatMap((character) => [
      ['a control character', `https://merchant.example/${character}x`, 'control'] as const,
      ['one in the name', `https://merchant${character}.example/`, 'control'] as const,
      ['one in the scheme', `ht${character}tps://merchant.example/`, 'control'] as const,
      ['one at the start', `${character}https://merchant.example/`, 'control'] as const,
      ['one at the end', `https://merchant.example/${character}`, 'control'] as const,
    ]),
    ['loopback', 'https://127.0.0.1/', 'public internet'],
    ['loopback, shortened', 'https://127.1/', 'public internet'],
    ['loopback as one number', 'https://2130706433/', 'public internet'],
    ['loopback in hexadecimal', 'https://0x7f000001/', 'public internet'],
    ['loopback in octal', 'https://0177.0.0.1/', 'public internet'],
    ['loopback with a trailing dot', 'https://127.0.0.1./', 'public internet'],
    ['loopback in full-width digits', 'https://１２７.0.0.1/', 'public internet'],
    ['loopback, escaped', 'https://%31%32%37.0.0.1/', 'public internet'],
    ['IPv6 loopback', 'https://[::1]/', 'public internet'],
    ['mapped loopback', 'https://[::ffff:127.0.0.1]/', 'public internet'],
    ['translated loopback', 'https://[64:ff9b::7f00:1]/', 'public internet'],
    ['the metadata of a cloud', 'https://169.254.169.254/latest/meta-data/', 'public internet'],
    ['this network', 'https://0/', 'public internet'],
  ])('for %s: %s', (_, text, reason) => {
    expect(checkWebhookUrl(text, strict)).toEqual({ refusal: expect.stringContaining(reason) })
  })
})

describe('where insecure receivers are allowed', () => {
  test.each(['http://127.0.0.1:4000/', 'http://localhost:4000/', 'https://[::1]/'])(
    '%s is accepted',
    (text) => {
      expect(checkWebhookUrl(text, local)).toEqual({ url: new URL(text) })
    },
  )

  test.each(['http://10.0.0.1/', 'http://169.254.169.254/', 'ftp://127.0.0.1/', 'http://a@b/'])(
    '%s is refused all the same',
    (text) => {
      expect(checkWebhookUrl(text, local)).toHaveProperty('refusal')
    },
  )
})

test('the host of an IPv6 address has no brackets', () => {
  expect(hostOf(new URL('https://[::1]:80/'))).toBe('::1')
})
