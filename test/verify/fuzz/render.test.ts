import { createHmac } from 'node:crypto'
import { expect, test } from '@jest/globals'
import { corpus } from '../../../verify/fuzz/corpus/corpus.ts'
import { payment, providerEvent } from '../../../verify/fuzz/corpus/requests.ts'
import { decodeCase, encodeCase, utf8, renderRequest } from '../../../verify/fuzz/draft.ts'

const names = (name: string) =>
  new Map([
    ['tenant-key', 'sk_test_1'],
    ['webhook-secret', 'whsec_1'],
    ['new-key', 'k1'],
    ['payment', 'pay_1'],
  ]).get(name)

function render(draft: Parameters<typeof renderRequest>[0]): { head: string; body: string } {
  const [head = '', body = ''] = renderRequest(draft, names).toString('latin1').split('\r\n\r\n')
  return { head, body }
}

test('fills in placeholders and sets the content-length in bytes', () => {
  const { head, body } = render(payment({ body: `{"a":"{{payment}}${utf8('é')}"}` }))

  expect(head).toContain('authorization: Bearer sk_test_1\r\nidempotency-key: k1\r\n')
  expect(body).toBe('{"a":"pay_1\u00C3\u00A9"}')
  expect(head).toMatch(new RegExp(`content-length: ${body.length}$`))
})

test('leaves unknown placeholders as they are', () => {
  expect(render(payment({ body: '{{nothing}} {{7*7}} {{spaces-3}}' })).body).toBe(
    '{{nothing}} {{7*7}}    ',
  )
})

test('keeps content-length and Host headers of the draft', () => {
  const { head } = render(payment({ headers: { 'content-length': '1', host: ['a', 'b'] } }))

  expect(head.match(/content-length: /g)).toHaveLength(1)
  expect(head).toMatch(/host: a\r\nhost: b/)
})

test('signs the bytes that it sends', () => {
  const { head, body } = render(providerEvent('{"id":"{{payment}}"}'))
  const [, seconds = '', signature] = /t=(\d+),v1=([0-9a-f]+)/.exec(head) ?? []

  const own = createHmac('sha256', 'whsec_1').update(`${seconds}.${body}`).digest('hex')
  expect(signature).toBe(own)
  expect(Math.abs(Date.now() / 1_000 - Number(seconds))).toBeLessThan(60)
})

test('encodes and decodes every case without a change', () => {
  for (const one of corpus) expect(decodeCase(encodeCase(one))).toEqual(one)
})
