import { describe, expect, test } from '@jest/globals'
import { ConfigError } from '../../../../src/config-formats.ts'
import { parseDatabaseUrl } from '../../../../src/database-url.ts'
import { makeAuthority } from '../../../support/certificates.ts'
import { makeTemporaryFolder } from '../../../support/temporary-folder.ts'

const BASE = 'postgres://user:hunter2@db/payments'
const parse = (query: string) => parseDatabaseUrl(`${BASE}?${query}`)
const host = (name: string, port = 5432) => ({ host: name, port })

describe('the place of the database', () => {
  test.each([
    ['postgres://u:p@db:6432/payments', [host('db', 6432)], 'u', 'p', 'payments'],
    ['postgresql://db', [host('db')], undefined, undefined, undefined],
    ['postgres://', [host('localhost')], undefined, undefined, undefined],
    ['postgres:///payments', [host('localhost')], undefined, undefined, 'payments'],
    ['postgres://u@db/', [host('db')], 'u', undefined, undefined],
    ['postgres://u:p@:6432,b/x', [host('localhost', 6432), host('b')], 'u', 'p', 'x'],
    ['postgres://u:@db/payments', [host('db')], 'u', undefined, 'payments'],
    ['postgres://u:p%40%2F%3F%23%3A%25@db/a%20b', [host('db')], 'u', 'p@/?#:%', 'a b'],
    ['postgres://u@server:p@ss:word@db/x', [host('db')], 'u@server', 'p@ss:word', 'x'],
    ['postgres://u:p+q@db/x', [host('db')], 'u', 'p+q', 'x'],
    ['postgres://u:pässword€@db/x', [host('db')], 'u', 'pässword€', 'x'],
    ['postgres://u:p@[::1]:6432/x', [host('::1', 6432)], 'u', 'p', 'x'],
    ['postgres://u:p@[2001:db8::1],b/x', [host('2001:db8::1'), host('b')], 'u', 'p', 'x'],
    ['postgres://u:p@a:1,b,c:3/x', [host('a', 1), host('b'), host('c', 3)], 'u', 'p', 'x'],
    ['postgres://u:p@%2Fvar%2Frun/x', [host('/var/run')], 'u', 'p', 'x'],
    [
      'postgres:///x?host=/cloudsql/p:r:i&user=u&password=p',
      [host('/cloudsql/p:r:i')],
      'u',
      'p',
      'x',
    ],
    ['postgres://u:p@localhost/x?host=/cloudsql/i', [host('/cloudsql/i')], 'u', 'p', 'x'],
    ['postgres://u:p@/?dbname=x&host=a,b&port=1,2', [host('a', 1), host('b', 2)], 'u', 'p', 'x'],
    ['postgres://u:p@a,b/x?port=6432', [host('a', 6432), host('b', 6432)], 'u', 'p', 'x'],
  ])('%s', (url, hosts, user, password, database) => {
    expect(parseDatabaseUrl(url)).toMatchObject({ hosts, user, password, database })
  })
})

test.each([
  ['', 'disable'],
  ['sslmode=disable', 'disable'],
  ['sslmode=allow', 'prefer'],
  ['sslmode=prefer', 'prefer'],
  ['sslmode=require', 'require'],
  ['sslmode=require&sslrootcert=CA', 'verify-ca'],
  ['sslmode=verify-ca&sslrootcert=CA', 'verify-ca'],
  ['sslmode=verify-full&sslrootcert=CA', 'verify-full'],
  ['sslmode=verify-full', 'verify-full'],
  ['sslmode=verify-full&sslrootcert=system', 'verify-full'],
  ['sslrootcert=system', 'verify-full'],
  ['channel_binding=require', 'verify-full'],
  ['channel_binding=require&sslmode=prefer', 'verify-full'],
  ['channel_binding=require&sslmode=require', 'verify-full'],
  ['channel_binding=require&sslmode=verify-ca&sslrootcert=CA', 'verify-full'],
  ['channel_binding=require&sslmode=require&sslrootcert=system', 'verify-full'],
  ['channel_binding=prefer&sslmode=require', 'require'],
  ['channel_binding=disable', 'disable'],
])('"%s" means the sslmode %s', async (query, mode) => {
  const { certificate } = await makeAuthority(await makeTemporaryFolder(), 'ca')
  const { tls } = parse(query.replace('CA', encodeURIComponent(certificate)))

  expect(tls.mode).toBe(mode)
  const verifies = mode.startsWith('verify-') ? undefined : false
  if (mode !== 'disable') expect(tls.options.rejectUnauthorized).toBe(verifies)
})

test.each([
  ['', false],
  ['target_session_attrs=any', false],
  ['target_session_attrs=primary', true],
  ['target_session_attrs=read-write', true],
])('"%s" accepts only a primary: %s', (query, onlyPrimary) => {
  expect(parse(query).onlyPrimary).toBe(onlyPrimary)
})

test('reads the other parameters', () => {
  expect(
    parse('options=-c%20search_path%3Da+b&connect_timeout=7&gssencmode=disable'),
  ).toMatchObject({
    options: '-c search_path=a+b',
    connectTimeoutMs: 7_000,
  })
  expect(parse('connect_timeout=0&client_encoding=UTF8')).toMatchObject({
    options: undefined,
    connectTimeoutMs: undefined,
  })
})

describe('refuses', () => {
  test.each([
    ['another protocol', 'mysql://u:hunter2@db/x', 'must be postgres://'],
    ['a slash in the password', 'postgres://u:hunter2/3@db/x', 'must be postgres://'],
    ['a fragment', `${BASE}#hunter2`, 'must be postgres://'],
    ['a path', `${BASE}/hunter2`, 'must be postgres://'],
    ['a percent sign', 'postgres://u:hunter2%@db/x', 'must be postgres://'],
    ['port 0', 'postgres://u:p@db:0/x', 'port: must be 1 to 65535'],
    ['a port that is too high', 'postgres://u:p@a:1,b:65536/x', 'must be postgres://'],
    ['IPv6 without brackets', 'postgres://u:p@::1/x', 'must be postgres://'],
    ['a host with a space', 'postgres://u:p@hunter2 x/x', 'must be postgres://'],
  ])('%s', (_, url, reason) => {
    expectRefused(url, reason)
  })

  test.each([
    ['hunter2', 'must be postgres://'],
    ['sslmode=require&sslmode=disable', 'has sslmode twice'],
    ['sslmode=hunter2', 'sslmode: Invalid option: expected one of "disable"|"allow"|"prefer"'],
    ['sslmode=verify-ca', 'SECURITY WARNING: Using sslmode=verify-ca requires specifying a CA'],
    ['sslrootcert=ca.pem', 'sslrootcert: needs sslmode=require, verify-ca or verify-full'],
    ['sslrootcert=', 'sslrootcert: '],
    ['sslrootcert=system&sslmode=require', 'sslrootcert: system needs sslmode=verify-full'],
    ['sslmode=require&sslcert=a', 'sslcert and sslkey: each needs the other'],
    ['sslmode=require&sslpassword=hunter2', 'sslcert and sslkey: each needs the other'],
    ['sslcert=a&sslkey=b', 'sslcert and sslkey: each needs the other, and an sslmode'],
    ['sslnegotiation=direct&sslmode=require', 'sslnegotiation: must be postgres'],
    ['channel_binding=require&sslmode=disable', 'channel_binding: require needs TLS'],
    ['channel_binding=require&host=/run', 'channel_binding: require needs TLS'],
    ['channel_binding=hunter2', 'channel_binding: Invalid option'],
    ['target_session_attrs=read-only', 'target_session_attrs: must be any, read-write or primary'],
    ['target_session_attrs=prefer-standby', 'target_session_attrs: must be any, read-write'],
    ['connect_timeout=-1', 'connect_timeout: '],
    ['client_encoding=LATIN1', 'client_encoding: '],
    ['gssencmode=require', 'gssencmode: must be disable or prefer'],
    ['port=1,2', 'port: must be one port, or one for each host'],
    ['application_name=hunter2', 'the parameter application_name is not supported: each process'],
    ['ssl=true', 'the parameter ssl is not supported: use sslmode'],
    ['toString=hunter2', 'the parameter toString is not supported'],
    ['__proto__=hunter2', 'the parameter __proto__ is not supported'],
    ['options=%', 'must be postgres://'],
    ['port=hunter2', 'port: must be 1 to 65535'],
  ])('?%s', (query, reason) => {
    expectRefused(`${BASE}?${query}`, reason)
  })
})

function expectRefused(url: string, reason: string): void {
  const parsing = () => parseDatabaseUrl(url)
  expect(parsing).toThrow(ConfigError)
  expect(parsing).toThrow(`DATABASE_URL: ${reason}`)
  expect(parsing).not.toThrow('hunter2')
}
