// The queries of lists: invalid limits, cursors and filters, and cursors of another tenant.
import type { Case } from '../draft.ts'
import { adminGet, casesOf, get, type Table } from './requests.ts'

const payments = (query: string) => get(`/v1/payments?${query}`)
const disputes = (query: string) => get(`/v1/disputes?${query}`)
const transactions = (query: string) => get(`/v1/ledger/transactions?${query}`)

// prettier-ignore
const table: Table = {
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

export const queries: readonly Case[] = casesOf('queries', table)
