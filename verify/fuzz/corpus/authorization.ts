// Keys that are none, keys of others, and keys that may not do this.
import { utf8, type Case } from '../draft.ts'
import { adminGet, adminPost, casesOf, get, payment, post, type Table } from './requests.ts'

const withKeys = (...lines: readonly string[]) => ({ headers: { authorization: lines } })
const authorized = (...lines: readonly string[]) => payment(withKeys(...lines))
const KEYLESS = { headers: { authorization: null } }

// prettier-ignore
const table: Table = {
  'api-key-missing': {
    'none': payment(KEYLESS),
    'none, and nothing else either': payment({ headers: { authorization: null, 'idempotency-key': null, 'content-type': null }, body: '' }),
    'none to read': get('/v1/payments', KEYLESS),
    'in the query': get('/v1/payments?api_key={{tenant-key}}', KEYLESS),
    'in a cookie': get('/v1/payments', { headers: { authorization: null, cookie: 'authorization={{tenant-key}}' } }),
    'under another name': get('/v1/payments', { headers: { authorization: null, 'x-api-key': '{{tenant-key}}' } }),
    'to a proxy': get('/v1/payments', { headers: { authorization: null, 'proxy-authorization': 'Bearer {{tenant-key}}' } }),
  },
  'api-key-invalid': {
    'empty': authorized(''),
    'a scheme alone': authorized('Bearer'),
    'a scheme and a space': authorized('Bearer '),
    'no scheme': authorized('{{tenant-key}}'),
    'another scheme': authorized('Basic c2tfOg=='),
    'the scheme twice': authorized('Bearer Bearer {{tenant-key}}'),
    'a colon': authorized('Bearer: {{tenant-key}}'),
    'a comma behind it': authorized('Bearer {{tenant-key}},'),
    'in quotes': authorized('Bearer "{{tenant-key}}"'),
    'two keys': authorized('Bearer {{tenant-key}}', 'Bearer {{other-tenant-key}}'),
    'the same key twice': authorized('Bearer {{tenant-key}}', 'Bearer {{tenant-key}}'),
    'two keys in one line': authorized('Bearer {{tenant-key}}, Bearer {{tenant-key}}'),
    'malformed': authorized('Bearer nonsense'),
    'unknown': authorized('Bearer sk_test_{{letters-32}}'),
    'unknown, with a checksum that is wrong': authorized('Bearer sk_atomic_{{letters-38}}'),
    'a character short': authorized('Bearer sk_test'),
    'a character more': authorized('Bearer {{tenant-key}}x'),
    'in upper case': authorized('Bearer SK_TEST_{{letters-32}}'),
    'of ten thousand characters': authorized('Bearer sk_{{letters-10000}}'),
    'UTF-8': authorized(`Bearer sk_test_${utf8('\u00E9'.repeat(20))}`),
    'a wildcard': authorized('Bearer sk_test_%'),
    'a piece of SQL': authorized("Bearer sk_test_'or'1'='1"),
    'an end of a line, escaped': authorized('Bearer sk_test_%0d%0ax-admin:%201'),
    'revoked': authorized('Bearer {{ended-key}}'),
    "an operator's": authorized('Bearer {{admin-key}}'),
    'the secret of a webhook': authorized('Bearer {{webhook-secret}}'),
  },
  'scope-missing': {
    'for events, to pay': authorized('Bearer {{events-key}}'),
    'for events, to read payments': get('/v1/payments', withKeys('Bearer {{events-key}}')),
    'for events, to refund': post('/v1/payments/{{payment}}/refunds', {}, withKeys('Bearer {{events-key}}')),
    'for events, to read the ledger': get('/v1/ledger/balances', withKeys('Bearer {{events-key}}')),
    'for the ledger, to read events': get('/v1/events', withKeys('Bearer {{ledger-key}}')),
    'for the ledger, to capture': post('/v1/payments/{{held-payment}}/capture', null, withKeys('Bearer {{ledger-key}}')),
    'for the ledger, to make an endpoint': post('/v1/webhook-endpoints', { url: 'https://fuzz.invalid/' }, withKeys('Bearer {{ledger-key}}')),
    'for the ledger, to rotate a secret': post('/v1/webhook-endpoints/{{webhook-endpoint}}/rotate-secret', null, withKeys('Bearer {{ledger-key}}')),
    'before anything else is wrong': payment({ headers: { authorization: 'Bearer {{events-key}}', 'idempotency-key': null, 'content-type': 'text/plain' }, body: 'nonsense' }),
    'whether the key is known or not': get('/v1/idempotency-keys/{{used-key}}', withKeys('Bearer {{events-key}}')),
  },
  'operator-key-invalid': {
    'of operators: none': adminGet('/admin/operations', KEYLESS),
    'of operators: malformed': adminGet('/admin/operations', withKeys('Bearer nonsense')),
    'of operators: unknown': adminGet('/admin/operations', withKeys('Bearer adm_{{letters-40}}')),
    'of operators: one more character': adminGet('/admin/operations', withKeys('Bearer {{admin-key}}x')),
    "of operators: a tenant's": adminGet('/admin/operations', withKeys('Bearer {{tenant-key}}')),
    'of operators: twice': adminGet('/admin/operations', withKeys('Bearer {{admin-key}}', 'Bearer {{admin-key}}')),
    'of operators: in the query': adminGet('/admin/operations?key={{admin-key}}', KEYLESS),
    "of operators: a tenant's, to make a tenant": adminPost('/admin/tenants', { name: 'mine' }, withKeys('Bearer {{tenant-key}}')),
    "of operators: a tenant's, to make a key": adminPost('/admin/tenants/{{tenant}}/keys', { scopes: ['*'] }, withKeys('Bearer {{tenant-key}}')),
    "of operators: a tenant's, to revoke a key": adminPost('/admin/keys/{{spare-key-id}}', null, { method: 'DELETE', ...withKeys('Bearer {{tenant-key}}') }),
  },
}

export const authorization: readonly Case[] = casesOf('authorization', table)
