// Tests that the check against openapi.yaml fails for undocumented responses.
import { expect, test } from '@jest/globals'
import { problemBody } from '../../src/domain/problems/problem-error.ts'
import { expectDocumented } from './documented.ts'

const health = { status: 'ok' }

function check({
  method = 'GET',
  path = '/healthz',
  status = 200,
  headers = {},
  body = health as unknown,
}): () => void {
  const all = {
    'request-id': 'req_1',
    'content-type': 'application/json; charset=utf-8',
    ...headers,
  }
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return () => expectDocumented(method, path, { status, headers: new Headers(all) }, text)
}

test('an answer as the document says passes', () => {
  expect(check({})).not.toThrow()
  expect(check({ method: 'HEAD', body: '' })).not.toThrow()
})

const refused: [string, Parameters<typeof check>[0], RegExp][] = [
  ['a route', { path: '/v2/payments' }, /no operation GET \/v2\/payments is documented/],
  ['a method', { method: 'POST' }, /no operation POST \/healthz is documented/],
  ['a status', { status: 418 }, /status 418 is not documented for \/healthz/],
  ['a header', { headers: { 'x-ours': '1' } }, /the header x-ours is not documented/],
  ['a content type', { headers: { 'content-type': 'text/html' } }, /content type text\/html/],
  ['a member', { body: { ...health, more: 1 } }, /additional properties.*more/],
  ['a value', { body: { status: 'so-so' } }, /\/status must be equal to constant/],
  ...problemsThatFail(),
]

function problemsThatFail(): typeof refused {
  const headers = { 'content-type': 'application/problem+json' }
  const missing = problemBody('resource-not-found')
  const read = { path: '/v1/refunds/re_1', status: 404, headers, body: missing }
  const overloaded = { ...read, status: 503, body: problemBody('overloaded') }
  return [
    ['a status of no problem', { ...read, status: 409 }, /status 409 is not documented/],
    ['a problem', { ...read, body: problemBody('invalid-state') }, /invalid-state is not docu/],
    ['a problem of another status', { ...overloaded, body: missing }, /title or status are not/],
    ['another title', { ...read, body: { ...missing, title: 'Gone' } }, /title or status are not/],
    ['a member of another problem', { ...read, body: { ...missing, errors: [] } }, /has no errors/],
    ['a header of keys', { ...read, headers: { ...headers, link: '<x>' } }, /link without an/],
    [
      'an API key that was not asked for',
      { ...read, status: 401, body: problemBody('api-key-missing') },
      /www-authenticate is missing/,
    ],
    ['a retry', { ...read, headers: { ...headers, 'retry-after': '1' } }, /retry/],
  ]
}

test.each(refused)('%s that is not documented fails', (_, answer, complaint) => {
  expect(check(answer)).toThrow(complaint)
})

test('a header that always has to be there, and is not, fails', () => {
  const answer = { status: 200, headers: new Headers({ 'content-type': 'application/json' }) }

  expect(() => expectDocumented('GET', '/healthz', answer, JSON.stringify(health))).toThrow(
    /the header request-id is missing/,
  )
})

test('an unknown path may be told what any request is before it is looked up', () => {
  const body = {
    type: '/problems/headers-too-large',
    title: 'The headers are too large',
    status: 431,
    error: {
      type: 'invalid_request_error',
      code: 'headers_too_large',
      message: 'The headers are too large',
    },
  }
  const headers = { 'content-type': 'application/problem+json' }

  expect(check({ path: '/nowhere', status: 431, headers, body })).not.toThrow()
})

test('an unknown path may be answered that there is no such route, and nothing else', () => {
  const body = {
    type: '/problems/route-not-found',
    title: 'No such route',
    status: 404,
    error: { type: 'invalid_request_error', code: 'route_not_found', message: 'No such route' },
  }
  const headers = { 'content-type': 'application/problem+json' }

  expect(check({ path: '/nowhere', status: 404, headers, body })).not.toThrow()
  expect(check({ path: '/nowhere', status: 404, headers, body: { ...body, more: 1 } })).toThrow()
})
