// Missing and invalid API keys, operator keys on tenant routes and the reverse, and API keys
// without the scope.
import { type Case, utf8 } from '../draft.ts'
import { adminGet, adminPost, casesOf, get, payment, post, type Table } from './requests.ts'

const withKeys = (...lines: readonly string[]) => ({ headers: { authorization: lines } })
const authorized = (...lines: readonly string[]) => payment(withKeys(...lines))
const KEYLESS = { headers: { authorization: null } }

// prettier-ignore
const table: Table = {
  'api-key-missing': {
    'no header': payment(KEYLESS),
    'no headers at all': payment({ headers: { authorization: null, 'idempotency-key': null, 'content-type': null }, body: '' }),
    'no header, for a read': get('/v1/payments', KEYLESS),
    'in the query': get('/v1/payments?api_key={{tenant-key}}', KEYLESS),
    'in a cookie': get('/v1/payments', { headers: { authorization: null, cookie: 'authorization={{tenant-key}}' } }),
    'in another header': get('/v1/payments', { headers: { authorization: null, 'x-api-key': '{{tenant-key}}' } }),
    'in Proxy-Authorization': get('/v1/payments', { headers: { authorization: null, 'proxy-authorization': 'Bearer {{tenant-key}}' } }),
  },
  'api-key-invalid': {
    'empty': authorized(''),
    'only a scheme': authorized('Bearer'),
    'a scheme and a space': authorized('Bearer '),
    'no scheme': authorized('{{tenant-key}}'),
    'another scheme': authorized('Basic c2tfOg=='),
    'the scheme twice': authorized('Bearer Bearer {{tenant-key}}'),
    'a colon': authorized('Bearer: {{tenant-key}}'),
    'a trailing comma': authorized('Bearer {{tenant-key}},'),
    'in quotes': authorized('Bearer "{{tenant-key}}"'),
    'two keys': authorized('Bearer {{tenant-key}}', 'Bearer {{other-tenant-key}}'),
    'the same key twice': authorized('Bearer {{tenant-key}}', 'Bearer {{tenant-key}}'),
    'two keys in one header line': authorized('Bearer {{tenant-key}}, Bearer {{tenant-key}}'),
    'malformed': authorized('Bearer nonsense'),
    'unknown': authorized('Bearer sk_test_{{letters-32}}'),
    'unknown, with a wrong checksum': authorized('Bearer sk_atomic_{{letters-38}}'),
    'too short': authorized('Bearer sk_test'),
    'one character too many': authorized('Bearer {{tenant-key}}x'),
    'in upper case': authorized('Bearer SK_TEST_{{letters-32}}'),
    'of ten thousand characters': authorized('Bearer sk_{{letters-10000}}'),
    'UTF-8': authorized(`Bearer sk_test_${utf8('\u00E9'.repeat(20))}`),
    'a wildcard': authorized('Bearer sk_test_%'),
    'SQL': authorized("Bearer sk_test_'or'1'='1"),
    'an escaped line break': authorized('Bearer sk_test_%0d%0ax-admin:%201'),
    'revoked': authorized('Bearer {{ended-key}}'),
    "an operator's API key": authorized('Bearer {{admin-key}}'),
    'a webhook secret': authorized('Bearer {{webhook-secret}}'),
  },
  'scope-missing': {
    'events scope, for a payment': authorized('Bearer {{events-key}}'),
    'events scope, for the list of payments': get('/v1/payments', withKeys('Bearer {{events-key}}')),
    'events scope, for a refund': post('/v1/payments/{{payment}}/refunds', {}, withKeys('Bearer {{events-key}}')),
    'events scope, for disputes': get('/v1/disputes', withKeys('Bearer {{events-key}}')),
    'ledger scope, for a dispute': get('/v1/disputes/{{dispute}}', withKeys('Bearer {{ledger-key}}')),
    'events scope, for the ledger': get('/v1/ledger/balances', withKeys('Bearer {{events-key}}')),
    'ledger scope, for events': get('/v1/events', withKeys('Bearer {{ledger-key}}')),
    'ledger scope, for a capture': post('/v1/payments/{{held-payment}}/capture', null, withKeys('Bearer {{ledger-key}}')),
    'ledger scope, for a new endpoint': post('/v1/webhook-endpoints', { url: 'https://fuzz.invalid/' }, withKeys('Bearer {{ledger-key}}')),
    'ledger scope, for a change of an endpoint': post('/v1/webhook-endpoints/{{webhook-endpoint}}', {}, withKeys('Bearer {{ledger-key}}')),
    'ledger scope, to disable an endpoint': post('/v1/webhook-endpoints/{{webhook-endpoint}}', { disabled: true }, withKeys('Bearer {{ledger-key}}')),
    'ledger scope, for a test event': post('/v1/webhook-endpoints/{{webhook-endpoint}}/test', null, withKeys('Bearer {{ledger-key}}')),
    'ledger scope, for a replay': post('/v1/webhook-endpoints/{{webhook-endpoint}}/replay', { since: '2026-01-31T12:00:00Z' }, withKeys('Bearer {{ledger-key}}')),
    'ledger scope, for the rotation of a secret': post('/v1/webhook-endpoints/{{webhook-endpoint}}/rotate-secret', null, withKeys('Bearer {{ledger-key}}')),
    'reported before all other errors': payment({ headers: { authorization: 'Bearer {{events-key}}', 'idempotency-key': null, 'content-type': 'text/plain' }, body: 'nonsense' }),
    'events scope, for an idempotency key': get('/v1/idempotency-keys/{{used-key}}', withKeys('Bearer {{events-key}}')),
  },
  'operator-key-invalid': {
    'operator route: no header': adminGet('/admin/operations', KEYLESS),
    'operator route: malformed': adminGet('/admin/operations', withKeys('Bearer nonsense')),
    'operator route: unknown': adminGet('/admin/operations', withKeys('Bearer adm_{{letters-40}}')),
    'operator route: one character too many': adminGet('/admin/operations', withKeys('Bearer {{admin-key}}x')),
    "operator route: a tenant's API key": adminGet('/admin/operations', withKeys('Bearer {{tenant-key}}')),
    'operator route: twice': adminGet('/admin/operations', withKeys('Bearer {{admin-key}}', 'Bearer {{admin-key}}')),
    'operator route: in the query': adminGet('/admin/operations?key={{admin-key}}', KEYLESS),
    "operator route: a tenant's API key, for a new tenant": adminPost('/admin/tenants', { name: 'mine' }, withKeys('Bearer {{tenant-key}}')),
    "operator route: a tenant's API key, for a new API key": adminPost('/admin/tenants/{{tenant}}/keys', { scopes: ['*'] }, withKeys('Bearer {{tenant-key}}')),
    "operator route: a tenant's API key, for a revocation": adminPost('/admin/keys/{{spare-key-id}}', null, { method: 'DELETE', ...withKeys('Bearer {{tenant-key}}') }),
  },
}

export const authorization: readonly Case[] = casesOf('authorization', table)
