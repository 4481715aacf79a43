// Missing and invalid API keys, operator keys on tenant routes and the reverse, and API keys
// without the scope.
import type { Case } from '../draft.ts'
import { adminGet, adminPost, casesOf, get, payment, type Table } from './requests.ts'

const withKeys = (...lines: readonly string[]) => ({ headers: { authorization: lines } })
const authorized = (...lines: readonly string[]) => payment(withKeys(...lines))
const KEYLESS = { headers: { authorization: null } }

// prettier-ignore
const table: Table = {
  'api-key-missing': {
    'no header': payment(KEYLESS),
    'no headers at all': payment({ headers: { authorization: null, 'idempotency-key': null, 'content-type': null }, body: '' }),
    'in a cookie': get('/v1/payments', { headers: { authorization: null, cookie: 'authorization={{tenant-key}}' } }),
    'in another header': get('/v1/payments', { headers: { authorization: null, 'x-api-key': '{{tenant-key}}' } }),
  },
  'api-key-invalid': {
    'only a scheme': authorized('Bearer'),
    'the scheme twice': authorized('Bearer Bearer {{tenant-key}}'),
    'a colon': authorized('Bearer: {{tenant-key}}'),
    'two keys': authorized('Bearer {{tenant-key}}', 'Bearer {{other-tenant-key}}'),
    'two keys in one header line': authorized('Bearer {{tenant-key}}, Bearer {{tenant-key}}'),
    'unknown, with a wrong checksum': authorized('Bearer sk_atomic_{{letters-38}}'),
    'of ten thousand characters': authorized('Bearer sk_{{letters-10000}}'),
    'a webhook secret': authorized('Bearer {{webhook-secret}}'),
  },
  'scope-missing': {
    'reported before all other errors': payment({ headers: { authorization: 'Bearer {{events-key}}', 'idempotency-key': null, 'content-type': 'text/plain' }, body: 'nonsense' }),
  },
  'operator-key-invalid': {
    'operator route: no header': adminGet('/admin/operations', KEYLESS),
    'operator route: in the query': adminGet('/admin/operations?key={{admin-key}}', KEYLESS),
    "operator route: a tenant's API key, for a new tenant": adminPost('/admin/tenants', { name: 'mine' }, withKeys('Bearer {{tenant-key}}')),
  },
}

export const authorization: readonly Case[] = casesOf('authorization', table)
