import { describe, expect, test } from '@jest/globals'
import {
  isReplacedBy,
  LatestPrimaries,
  readServer,
  type Server,
} from '../../../../src/db/connection/server/server.ts'
import { openTestStore } from '../../reservations.ts'
import { database, store } from '../../../support/own-store.ts'

test('a server says which one it is', async () => {
  const server = await readServer(store.sql)

  expect(server).toEqual({
    cluster: expect.stringMatching(/^\d{19}$/) as unknown,
    timeline: 1,
    startedAt: expect.stringMatching(/^\d{10}\.\d+$/) as unknown,
  })
  expect(await readServer(store.sql)).toEqual(server)
})

test('a server may refuse to say its timeline', async () => {
  const admin = openTestStore(database.adminUrl)
  await admin.sql`revoke execute on function pg_control_system() from public`
  await admin.close()

  expect(await readServer(store.sql)).toMatchObject({ cluster: '', timeline: 0 })
})

const primary: Server = { cluster: 'a', timeline: 2, startedAt: '100' }
const former: Server = { ...primary, timeline: 1, startedAt: '90' }
const standby: Server = { ...primary, timeline: null, startedAt: '95' }

describe('the latest primaries', () => {
  test('refuse a former primary once the later one is known', () => {
    const latest = new LatestPrimaries()
    latest.note(former)
    expect(latest.isFormer(former)).toBe(false)

    latest.note(primary)

    expect(latest.isFormer(former)).toBe(true)
    expect(() => latest.note(former)).toThrow('it is a former primary: another one was promoted')
    expect(latest.isFormer(primary)).toBe(false)
  })

  test.each<[string, Server]>([
    ['a standby', standby],
    ['a server of another cluster', { ...former, cluster: 'b' }],
  ])('say nothing about %s', (_, server) => {
    const latest = new LatestPrimaries()
    latest.note(primary)

    expect(latest.isFormer(server)).toBe(false)
    expect(() => latest.note(server)).not.toThrow()
  })
})

const restarted: Server = { ...primary, startedAt: '99' }
const later: Server = { ...primary, timeline: 3, startedAt: '110' }

test.each<[string, Server, { silent: boolean; otherwise: boolean }]>([
  ['of the primary itself', primary, { silent: false, otherwise: false }],
  ['of a former primary', former, { silent: true, otherwise: true }],
  ['of a standby', standby, { silent: true, otherwise: true }],
  ['of a server of the same timeline', restarted, { silent: true, otherwise: false }],
  ['of another cluster', { ...former, cluster: 'b' }, { silent: true, otherwise: false }],
  [
    'that began before the server was promoted',
    { ...primary, timeline: null },
    { silent: false, otherwise: false },
  ],
  [
    'of a later primary, which the search has not found yet',
    later,
    { silent: false, otherwise: false },
  ],
])('whether a session %s is replaced', (_, server, { silent, otherwise }) => {
  expect(isReplacedBy(server, primary, true)).toBe(silent)
  expect(isReplacedBy(server, primary, false)).toBe(otherwise)
})
