// Checks the packages that `npm ci` installs: checksums, origin, install scripts and licences.
import { beforeAll, expect, test } from '@jest/globals'
import { readLockfile, type LockedPackage } from '../../dependencies/lockfile.ts'
import { readPage } from '../support/named-tests.ts'

/** Permissive licences. */
const LICENCES = [
  'MIT',
  'Apache-2.0',
  'ISC',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'Unlicense',
  '0BSD',
  // Approved by the OSI, and as permissive as MIT: of `sax`, with which `braintree` reads XML.
  'BlueOak-1.0.0',
]

let locked: readonly LockedPackage[]

beforeAll(async () => {
  locked = await readLockfile()
})

test('each package has a SHA-512 checksum', () => {
  const unchecked = locked.filter(
    ({ integrity = '' }) => !/^sha512-[A-Za-z\d+/]{86}==$/.test(integrity),
  )

  expect(locked.length).toBeGreaterThan(100)
  expect(unchecked).toEqual([])
})

test('each package comes from the npm registry', () => {
  const foreign = locked.filter(
    ({ resolved }) => resolved !== undefined && !resolved.startsWith('https://registry.npmjs.org/'),
  )

  expect(foreign).toEqual([])
})

test('allowScripts lists each package with an install script', () => {
  const { allowScripts } = JSON.parse(readPage('package.json')) as { allowScripts: object }
  const scripted = locked.filter(({ hasInstallScript }) => hasInstallScript === true)

  const undecided = scripted.filter(({ name }) => !(name in allowScripts))
  expect(undecided).toEqual([])
})

test('each runtime package has a permissive licence', () => {
  const restricted = locked.filter(
    ({ dev, license = '' }) =>
      !dev && !license.split(/[()]| OR | AND /).some((one) => LICENCES.includes(one)),
  )

  expect(restricted).toEqual([])
})
