import { expect, test } from '@jest/globals'
import { StatementNames } from '../../../verify/faults/points.ts'

const FETCH = (queue: string) =>
  ` WITH next AS ( SELECT j.id FROM atomic_jobs.job_common j WHERE j.name = '${queue}' AND j.state < 'active' )`

test.each([
  ['reserve', 'insert into idempotency_keys ( tenant_id ) select $1::uuid'],
  ['release', 'delete from idempotency_keys where tenant_id = $1 and id = any($2::uuid[])'],
  [
    'find-tombstones',
    'select key_hash, extract(epoch from deleted_at) from key_tombstones where true and key_hash = any($1)',
  ],
  [
    'claim',
    "\n  update idempotency_keys set\n status = 'processing', lease_epoch = lease_epoch + 1, attempts = attempts + 1",
  ],
  [
    'claim-unknown',
    "update idempotency_keys set status = 'processing', lease_epoch = lease_epoch + 1, attempts = 1",
  ],
  ['read-operation', 'select\n tenant_id, id, operation, key, failure_stored, evidence, (extract('],
  [
    'lookup',
    "select tenant_id, id from idempotency_keys where tenant_id = any($1) and id = any($2) and status not in ('pending', 'processing')",
  ],
  [
    'find-key',
    'select found.* from unnest( (select $1::uuid[]), (select $2::text[]) ) as wanted (tenant_id, key)',
  ],
  ['advance', 'update idempotency_keys set\n recovery_point = $1, phase_began_at = now()'],
  [
    'finish',
    "update idempotency_keys set status = 'completed', finished_at = now(), in_doubt = false where",
  ],
  ['renew', 'update idempotency_keys\n set lease_expires_at = now() + $1'],
  ['give-back', 'update idempotency_keys set status = $1, unknown_at = case'],
  [
    'give-back',
    "update idempotency_keys set expires_at = now() + $1 * interval '1 second', status = $2",
  ],
  ['reopen', "update idempotency_keys set status = 'pending', attempts = 0, last_error = null"],
  ['store-event', 'insert into provider_events ( provider, id ) select $1::text'],
  ['add-jobs', 'insert into "atomic_jobs".job ( id, name, data, start_after, created_on ) select'],
  ['wake', "select pg_notify( 'pgboss_' || left(encode(sha224($1::text::bytea), 'hex'), 24), $2 )"],
  ['announce', 'select pg_notify($1, $2)'],
  ['fetch-operations', FETCH('operations')],
  ['update-refunds', 'update refunds set status = $1'],
  [
    'insert-payments',
    'insert into payments (tenant_id, id) select tenant_id, id from jsonb_populate_recordset(',
  ],
  ['select-payments', 'select * from payments where id = $1'],
  ['lock-payments', 'select id from payments where id = any($1) order by id for no key update'],
  ['commit', 'commit'],
])('names the statement %s', (name, text) => {
  const names = new StatementNames()
  names.endLearning()

  expect(names.nameOf(text)).toBe(name)
})

test.each([
  'listen "settled"',
  'begin',
  "set local atomic.tenants = '*'",
  "set local atomic.tenants = '{0192f3a4-0000-7000-8000-000000000000}'",
  FETCH('maintenance'),
  'select 1 from atomic_jobs.version',
  `select id from "atomic_jobs".job where name = $1 and id = any($2::uuid[]) and state < 'completed'`,
  'select id from idempotency_keys where tenant_id = $1 and id = any($2::uuid[]) for key share',
  ' insert into key_replays ( tenant_id )',
])('%s belongs to no operation', (text) => {
  const names = new StatementNames()
  names.endLearning()

  expect(names.nameOf(text)).toBeUndefined()
})

test('a statement of an idle process belongs to no operation, unless the table knows it', () => {
  const names = new StatementNames()
  const idle = "select id from idempotency_keys where status = 'unknown'"
  names.nameOf(`${idle} and id > 17`)
  names.endLearning()

  expect(names.nameOf(`${idle} and id > 4`)).toBeUndefined()
  expect(names.nameOf('select id from payments')).toBe('select-payments')
  expect(names.nameOf('select pg_notify($1, $2)')).toBe('announce')
})
