// Invalid bodies of every operator command, and commands that the object's state refuses.
import type { Case } from '../draft.ts'
import { adminPost, casesOf, type Change, type Table } from './requests.ts'

const resolve = (body: Change['body'], change: Change = {}) =>
  adminPost('/admin/operations/{{operation}}/resolve', body, change)
const redrive = (body: Change['body']) => adminPost('/admin/dead-letters/redrive', body)
const compare = (body: Change['body']) => adminPost('/admin/reconciliations', body)
const close = (body: Change['body']) => adminPost('/admin/findings/{{finding}}/resolve', body)
const tenant = (body: Change['body']) => adminPost('/admin/tenants', body)
const key = (body: Change['body']) => adminPost('/admin/tenants/{{tenant}}/keys', body)
const limits = (body: Change['body']) => adminPost('/admin/tenants/{{tenant}}/limits', body)
const rotate = (body: Change['body']) => adminPost('/admin/keys/{{spare-key-id}}/rotate', body)
const resume = (body: Change['body'] = null) =>
  adminPost('/admin/operations/{{operation}}/resume', body)

const UUID = '0190e6a0-0000-4000-8000-000000000000'
const FROM = '2026-01-01T00:00:00Z'
const PROOF = 'checked in the records of the provider'

// prettier-ignore
const table: Table = {
  'secret-refused': {
    'an API key as a time': compare({ from: '{{admin-key}}', to: FROM }),
    'an API key as a scope': key({ scopes: ['{{admin-key}}'] }),
  },
  'malformed-json': {
    'not JSON': close('{"note"'),
    'a byte that is never UTF-8': close('{"note":"\u00FF"}'),
  },
  'duplicate-member': { 'a note twice': close('{"note":"a","note":"b"}') },
  'forbidden-character': {
    'NUL in a note': close('{"note":"\\u0000"}'),
    'a lone surrogate in a name': tenant('{"name":"\\ud800"}'),
  },
  'nesting-too-deep': { 'scopes in thirty nested arrays': key(`{"scopes":${'['.repeat(30)}${']'.repeat(30)}}`) },
  'body-too-large': { 'seventy thousand spaces': close('{{spaces-70000}}') },
  'unsupported-content-type': {
    'a note as text': adminPost('/admin/findings/{{finding}}/resolve', { note: 'seen' }, { headers: { 'content-type': 'text/plain' } }),
  },
  'unsupported-content-encoding': {
    'a note in gzip': adminPost('/admin/findings/{{finding}}/resolve', { note: 'seen' }, { headers: { 'content-encoding': 'gzip' } }),
  },
  'unknown-field': {
    'force, to resume': resume({ force: true }),
    'a proof of what happened': resolve({ outcome: 'happened', provider_id: 'pi_1', note: 'seen', proof: PROOF }),
    'what happened, unverified': resolve({ outcome: 'happened', provider_id: 'pi_1', note: 'seen', unverified: true }),
    'a chosen secret': key({ scopes: ['*'], secret: 'sk_mine' }),
    'the fees of a new tenant': tenant({ name: 'mine', fee_basis_points: 0 }),
    'a tenant, to rotate an API key': rotate({ grace_seconds: 0, tenant: '{{other-tenant}}' }),
    'a limit that only the owner may change': limits({ key_length_min: 36, active_keys: 0 }),
  },
  'invalid-field': {
    'another provider': compare({ from: FROM, to: '2026-01-02T00:00:00Z', provider: 'other' }),
    'too short a proof': resolve({ outcome: 'did_not_happen', proof: 'no' }),
    'too long a proof': resolve({ outcome: 'did_not_happen', proof: 'x'.repeat(501) }),
    'no proof': resolve({ outcome: 'did_not_happen' }),
    'the id of a payment as the provider id': resolve({ outcome: 'happened', provider_id: '{{payment}}', note: 'seen' }),
    'a provider id that contains a path': resolve({ outcome: 'happened', provider_id: 'pi_1/../2', note: 'seen' }),
    'no note of what happened': resolve({ outcome: 'happened', provider_id: 'pi_1' }),
    'a queue that holds no dead letters': redrive({ queue: 'operations' }),
    'an id twice': redrive({ queue: 'operations.dead', ids: [UUID, UUID] }),
    'a date without a time': compare({ from: FROM, to: '2026-01-02' }),
    'an end before the start': compare({ from: FROM, to: '2025-12-31T00:00:00Z' }),
    'an empty window': compare({ from: FROM, to: FROM }),
    'a time beyond the year 9999': compare({ from: FROM, to: '+275760-09-13T00:00:00Z' }),
    'a name of only spaces': tenant({ name: '   ' }),
    'a name on two lines': tenant({ name: 'a\nb' }),
    'a scope twice': key({ scopes: ['payments:read', 'payments:read'] }),
    'a key length with a fraction': limits('{"key_length_min":36.0}'),
    'a grace period with a fraction': rotate('{"grace_seconds":1.0}'),
  },
  'nothing-to-resume': { 'to resume a completed operation': resume() },
  'operation-not-unknown': {
    'a proof for a completed operation': resolve({ outcome: 'did_not_happen', proof: PROOF }),
    'an unverified proof for a completed operation': resolve({ outcome: 'did_not_happen', proof: PROOF, unverified: true }),
    'an outcome for a completed operation': resolve({ outcome: 'happened', provider_id: 'pi_1', note: 'seen' }),
  },
  'api-key-ended': { 'to rotate a revoked API key': adminPost('/admin/keys/{{ended-key-id}}/rotate', {}) },
  'finding-not-open': { 'a note on a closed finding': close({ note: 'seen' }) },
}

export const operators: readonly Case[] = casesOf('operators', table)
