// Paths: unknown ids, ids of other tenants and of other resources, escapes, traversal and unsupported
// methods. Queries of lists: invalid limits, cursors and filters.
import type { Case } from '../draft.ts'
import type { Change, Table } from './requests.ts'
import { adminGet, adminPost, casesOf, get, payment, post } from './requests.ts'

const by = (method: string): Change => ({ method, body: null })
const paymentAt = (id: string) => get(`/v1/payments/${id}`)
/** Well-formed, but it does not exist. */
const UNKNOWN_ID = '01h455vb4pex5vsknk084sn02q'

// prettier-ignore
const paths: Table = {
  'resource-not-found': {
    'an unknown payment': paymentAt(`pay_${UNKNOWN_ID}`),
    'an API key as an id': paymentAt('{{tenant-key}}'),
    'a payment of another tenant': paymentAt('{{other-payment}}'),
    'the id of a refund for a payment': paymentAt('{{refund}}'),
    'the largest id': paymentAt('pay_7zzzzzzzzzzzzzzzzzzzzzzzzz'),
    'an escaped NUL': paymentAt('pay_%00'),
    'escaped traversal': paymentAt('..%2F..%2Fetc%2Fpasswd'),
    'a card number': paymentAt('4242424242424242'),
    'the timeline of an unknown payment': get(`/v1/payments/pay_${UNKNOWN_ID}/timeline`),
    'refunds of an unknown payment': get(`/v1/payments/pay_${UNKNOWN_ID}/refunds`),
    'the id of a payment for a refund': get('/v1/refunds/{{payment}}'),
    'a dispute of another tenant': get('/v1/disputes/{{other-dispute}}'),
    'the id of a dispute at the provider': get('/v1/disputes/du_dispute'),
    'the id of a payment for a dispute': get('/v1/disputes/{{disputed-payment}}'),
    'to refund a dispute': post('/v1/payments/{{dispute}}/refunds', {}),
    'a deleted endpoint': get('/v1/webhook-endpoints/{{deleted-endpoint}}'),
    'an unused idempotency key': get('/v1/idempotency-keys/nobody'),
    'an idempotency key outside ASCII': get('/v1/idempotency-keys/cl%C3%A9'),
    'an idempotency key with NUL': get('/v1/idempotency-keys/%00'),
    "to capture another tenant's payment": post('/v1/payments/{{other-payment}}/capture', {}),
    "to cancel another tenant's payment": post('/v1/payments/{{other-payment}}/cancel', {}),
    "to refund another tenant's payment": post('/v1/payments/{{other-payment}}/refunds', {}),
    'to refund a refund': post('/v1/payments/{{refund}}/refunds', {}),
    'to change a deleted endpoint': post('/v1/webhook-endpoints/{{deleted-endpoint}}', {}),
    'to disable a deleted endpoint': post('/v1/webhook-endpoints/{{deleted-endpoint}}', { disabled: true }),
    'to enable a deleted endpoint': post('/v1/webhook-endpoints/{{deleted-endpoint}}', { disabled: false }),
    'to test a deleted endpoint': post('/v1/webhook-endpoints/{{deleted-endpoint}}/test', null),
    'to replay a deleted endpoint': post('/v1/webhook-endpoints/{{deleted-endpoint}}/replay', { since: '2026-01-31T12:00:00Z' }),
    'to delete a deleted endpoint': post('/v1/webhook-endpoints/{{deleted-endpoint}}', null, by('DELETE')),
    'the id of a payment for an operation': adminGet('/admin/operations/{{payment}}'),
    'to revoke an API key by its secret': adminPost('/admin/keys/{{spare-key}}', null, by('DELETE')),
    'an unknown problem': get('/problems/nothing'),
    'a problem named like a member of objects': get('/problems/constructor'),
    'a problem named __proto__': get('/problems/__proto__'),
    'a file outside the documentation': get('/docs/..%2F..%2Fpackage.json'),
  },
  'route-not-found': {
    'an unknown path': get('/v1/nothing'),
    'the root': get('/'),
    'two slashes': get('/v1//payments'),
    'two leading slashes': get('//v1/payments'),
    'escaped letters in the path': get('/%76%31/payments%2f'),
    'a broken escape': get('/v1/payments/%E0%A4%A'),
    'an escape that is not a character': get('/v1/payments/%FF'),
    'a lone percent sign': get('/v1/payments/%'),
    'traversal': get('/v1/payments/../../admin/tenants'),
    'traversal out of the documentation': get('/docs/../package.json'),
    'a semicolon': get('/v1/payments;jsessionid=1/x'),
    'a backslash': get('/v1\\payments'),
    'to close a dispute': post('/v1/disputes/{{dispute}}/close', {}),
    'a path below a refund': get('/v1/refunds/{{refund}}/'),
    'to pay at the root': payment({ target: '/' }),
    'to pay at the path of another API': payment({ target: '/v1/charges' }),
    'a Spring actuator': get('/actuator/env'),
    'a Git repository': get('/.git/config'),
    'an environment file': get('/.env'),
    'metrics': get('/metrics'),
    'OPTIONS for the whole server': get('*', { method: 'OPTIONS' }),
    'the URL of another server': get('http://169.254.169.254/latest/meta-data/'),
  },
  'method-not-allowed': {
    'TRACE': payment(by('TRACE')),
    'PURGE': payment(by('PURGE')),
    'another method by a header': get('/v1/payments/{{payment}}', { method: 'PUT', headers: { 'x-http-method-override': 'GET' } }),
    'HEAD of a capture': get('/v1/payments/{{payment}}/capture', by('HEAD')),
    'to change the health check': get('/healthz', { method: 'POST' }),
    'to change openapi.yaml': get('/openapi.yaml', { method: 'PUT' }),
    "to read the provider's events": get('/provider/webhooks'),
  },
}

const payments = (query: string) => get(`/v1/payments?${query}`)
const disputes = (query: string) => get(`/v1/disputes?${query}`)
const transactions = (query: string) => get(`/v1/ledger/transactions?${query}`)

// prettier-ignore
const queries: Table = {
  'invalid-query': {
    'an API key as a parameter name': payments('{{tenant-key}}=1'),
    'a limit with a space': payments('limit=+10'),
    'a limit in hexadecimal': payments('limit=0xa'),
    'a limit in Arabic digits': payments('limit=%D9%A1%D9%A0'),
    'a limit as an object': payments('limit[gte]=1'),
    'a parameter in upper case': payments('Limit=1'),
    '__proto__ as an object': payments('__proto__[limit]=1'),
    'a second question mark': payments('?limit=1'),
    'a thousand parameters': payments(Array.from({ length: 1_000 }, (_, index) => `a${index}`).join('&')),
    'a broken escape': payments('limit=%E0%A4%A'),
    'an escaped NUL': payments('limit=1%00'),
    'a cursor of another resource': payments('starting_after={{refund}}'),
    'a cursor twice': payments('starting_after={{payment}}&starting_after={{payment}}'),
    'a cursor of another list': get('/v1/payments/{{held-payment}}/refunds?starting_after={{refund}}'),
    'a card number as the cursor': payments('starting_after=4242424242424242'),
    'a currency in upper case': transactions('currency=USD'),
    'a date as a time': transactions('created_from=2026-01-31'),
    'a time without an offset': transactions('created_from=2026-01-31T12:00:00'),
    'a time before 1970': transactions('created_from=1969-12-31T23:59:59Z'),
    'a time beyond the year 9999': transactions('created_before=10000-01-01T00:00:00Z'),
    'a time that its offset moves beyond the year 9999': transactions('created_before=9999-12-31T23:59:59-14:00'),
    'a date that does not exist': transactions('created_from=2026-02-30T00:00:00Z'),
    'a Unix time': transactions('created_from=1767225600'),
    'an unknown type of dispute events': get('/v1/events?type=dispute.lost'),
    'two statuses of disputes': disputes('status=won,lost'),
    'a status of disputes twice': disputes('status=won&status=lost'),
    'a payment filter of disputes that is the id of a dispute': disputes('payment={{dispute}}'),
    'disputes after a dispute of another tenant': disputes('starting_after={{other-dispute}}'),
    'disputes before a payment': disputes('ending_before={{disputed-payment}}'),
    'disputes after an id of the provider': disputes('starting_after=du_dispute'),
    'the id of a refund as the payment filter of events': get('/v1/events?payment={{refund}}'),
    'an unknown parameter beside a limit': get('/v1/payments?timeline=1&limit=1'),
    'an unsupported status of operations': adminGet('/admin/operations?status=completed'),
    'a payment filter of operations that is the id of a refund': adminGet('/admin/operations?payment={{refund}}'),
    'an empty idempotency key to find operations by': adminGet('/admin/operations?idempotency_key='),
    'an idempotency key of 256 characters to find operations by': adminGet(`/admin/operations?idempotency_key=${'k'.repeat(256)}`),
    'an idempotency key with NUL to find operations by': adminGet('/admin/operations?idempotency_key=a%00'),
    'a provider id that is an id of ours to find operations by': adminGet('/admin/operations?provider_id={{payment}}'),
    'a provider id with a space to find operations by': adminGet('/admin/operations?provider_id=du_%20'),
    'dead letters after a cursor that is not an id': adminGet('/admin/dead-letters?starting_after=x'),
    'dead letters after an unknown cursor': adminGet('/admin/dead-letters?starting_after=00000000-0000-0000-0000-000000000000'),
    'the id of an operation as the reconciliation filter of findings': adminGet('/admin/findings?reconciliation={{operation}}'),
    'operator actions of an empty actor': adminGet('/admin/actions?actor=%20'),
    'operator actions about SQL': adminGet("/admin/actions?subject='or'1'='1"),
  },
}

export const targets: readonly Case[] = [...casesOf('paths', paths), ...casesOf('queries', queries)]
