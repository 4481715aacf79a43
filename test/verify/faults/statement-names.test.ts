import { expect, test } from '@jest/globals'
import { StatementNames } from '../../../verify/faults/statement-names.ts'

const FETCH = (queue: string) =>
  ` WITH next AS ( SELECT j.id FROM atomic_jobs.job_common j WHERE j.name = '${queue}' AND j.state < 'active' )`

test.each([
  ['reserve', 'with reserved as ( insert into idempotency_keys ( tenant_id ) select $1::uuid )'],
  ['claim', "\n  with claimed as (\n update idempotency_keys set status = 'processing'"],
  [
    'look-up',
    'select found.* from unnest(\n -- Planned once.\n (select $1::uuid[]) ) as wanted (tenant_id, id) cross join lateral ( select id from idempotency_keys as stored where stored.id = wanted.id ) as found',
  ],
  [
    'find-key',
    'select found.* from unnest( (select $1::uuid[]), (select $2::text[]) ) as wanted (tenant_id, key)',
  ],
  [
    'advance',
    'with asked as ( select $1 ), fenced as ( update idempotency_keys set recovery_point =',
  ],
  [
    'finish',
    "with asked as ( select $1 ), fenced as ( update idempotency_keys set status = 'completed',",
  ],
  ['advance', 'with fenced as (select $1::uuid as id ), changed as ( update payments set status ='],
  ['store-event', 'insert into provider_events ( provider, id ) select $1::text'],
  ['add-jobs', 'insert into "atomic_jobs".job ( id, name, data, start_after, created_on ) select'],
  ['wake', "select pg_notify( 'pgboss_' || left(encode(sha224($1::text::bytea), 'hex'), 24), $2 )"],
  ['announce', 'select pg_notify($1, $2)'],
  ['fetch-operations', FETCH('operations')],
  ['update-refunds', 'update refunds set status = $1'],
  ['select-payments', 'select * from payments where id = $1'],
])('names the statement %s', (name, text) => {
  const names = new StatementNames()
  names.endLearning()

  expect(names.nameOf(text)).toBe(name)
})

test.each([
  'listen "settled"',
  'begin',
  FETCH('maintenance'),
  'select 1 from atomic_jobs.version',
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
