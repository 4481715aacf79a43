import { describe, expect, test } from '@jest/globals'
import {
  judgeDatabase,
  type DatabaseFacts,
} from '../../../src/domain/deployment/database-checks.ts'

const SOUND: DatabaseFacts = {
  version: '18.4',
  loginRole: 'payments',
  role: 'atomic_payments_service',
  loginIsSuperuser: false,
  seesAllRows: false,
  unprotectedTables: [],
  isStandby: false,
  settings: {
    fsync: 'on',
    full_page_writes: 'on',
    synchronous_commit: 'on',
    default_transaction_read_only: 'off',
    session_replication_role: 'origin',
    max_connections: '100',
  },
  standbys: ['sync', 'async'],
  connections: 10,
  nodes: [],
}
const NEEDS = { mayLoseCommits: false, connections: 15 }

/** What is judged differently from a sound database: its names and verdicts. */
function judge(facts: Partial<DatabaseFacts>, needs = NEEDS): string[] {
  return judgeDatabase({ ...SOUND, ...facts }, needs)
    .filter(({ verdict }) => verdict !== 'ok')
    .map(({ name, verdict }) => `${name}: ${verdict}`)
}

const withNode = (settings: Partial<DatabaseFacts['settings']>, standbys = ['sync']) => ({
  nodes: [
    { node: 'b:5432', facts: { settings: { ...SOUND.settings, ...settings }, standbys } },
    { node: 'c:5432', facts: SOUND },
  ],
})

const withSettings = (settings: Partial<DatabaseFacts['settings']>) => ({
  settings: { ...SOUND.settings, ...settings },
})

test('a sound database has no warning', () => {
  expect(judge({})).toEqual([])
})

describe('a failure', () => {
  test.each<[string, Partial<DatabaseFacts>, string]>([
    ['an old version', { version: '14.11' }, 'PostgreSQL: failure'],
    ['a standby', { isStandby: true }, 'host: failure'],
    ['a role that sees all rows', { seesAllRows: true }, 'role: failure'],
    ['an unprotected table', { unprotectedTables: ['payments'] }, 'row-level security: failure'],
    ['fsync', withSettings({ fsync: 'off' }), 'durability: failure'],
    ['full_page_writes', withSettings({ full_page_writes: 'off' }), 'durability: failure'],
    ['commits', withSettings({ synchronous_commit: 'local' }), 'durability: failure'],
    ['fsync of a node', withNode({ fsync: 'off' }), 'durability of b:5432: failure'],
    ['commits of a node', withNode({ synchronous_commit: 'off' }), 'durability of b:5432: failure'],
    [
      'transactions that only read',
      withSettings({ default_transaction_read_only: 'on' }),
      'writes: failure',
    ],
    [
      'sessions without foreign keys',
      withSettings({ session_replication_role: 'replica' }),
      'writes: failure',
    ],
  ])('%s', (_, facts, expected) => {
    expect(judge(facts)).toEqual([expected])
  })
})

describe('a warning', () => {
  test.each<[string, Partial<DatabaseFacts>, string]>([
    ['a login superuser', { loginIsSuperuser: true }, 'role: warning'],
    ['no standby', { standbys: [] }, 'standbys: warning'],
    ['standbys that are all asynchronous', { standbys: ['async'] }, 'standbys: warning'],
    ['standbys that may not be seen', { standbys: [null] }, 'standbys: warning'],
    ['a node without a standby', withNode({}, []), 'standbys of b:5432: warning'],
    [
      'a node that does not answer',
      { nodes: [{ node: 'b:5432', facts: null }] },
      'node b:5432: warning',
    ],
    ['few connections', withSettings({ max_connections: '24' }), 'connections: warning'],
  ])('%s', (_, facts, expected) => {
    expect(judge(facts)).toEqual([expected])
  })
})

test('a trial may lose commits', () => {
  expect(judge(withSettings({ fsync: 'off' }), { ...NEEDS, mayLoseCommits: true })).toEqual([
    'durability: warning',
  ])
})

test('synchronous_commit may be stronger', () => {
  expect(judge(withSettings({ synchronous_commit: 'remote_apply' }))).toEqual([])
  expect(judge({ standbys: ['quorum', 'quorum'] })).toEqual([])
})
