// What `npm ci` installs: nothing but what it can check, and nothing that runs a script of its own unasked.
import { beforeAll, expect, test } from '@jest/globals'
import { readLockfile, type LockedPackage } from '../../dependencies/lockfile.ts'
import { readPage } from '../support/named-tests.ts'

/** Each lets its users do as they like. */
const LICENCES = ['MIT', 'Apache-2.0', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', 'Unlicense', '0BSD']

let locked: readonly LockedPackage[]

beforeAll(async () => {
  locked = await readLockfile()
})

test('each package has a checksum of SHA-512', () => {
  const unchecked = locked.filter(
    ({ integrity = '' }) => !/^sha512-[A-Za-z\d+/]{86}==$/.test(integrity),
  )

  expect(locked.length).toBeGreaterThan(100)
  expect(unchecked).toEqual([])
})

test('each package comes from the registry', () => {
  const foreign = locked.filter(
    ({ resolved }) => resolved !== undefined && !resolved.startsWith('https://registry.npmjs.org/'),
  )

  expect(foreign).toEqual([])
})

test('of each package with a script at its installation it is said whether it runs', () => {
  const { allowScripts } = JSON.parse(readPage('package.json')) as { allowScripts: object }
  const scripted = locked.filter(({ hasInstallScript }) => hasInstallScript === true)

  const undecided = scripted.filter(({ name }) => !(name in allowScripts))
  expect(undecided).toEqual([])
})

test('each package that runs may be used by anybody for anything', () => {
  const restricted = locked.filter(
    ({ dev, license = '' }) =>
      !dev && !license.split(/[()]| OR | AND /).some((one) => LICENCES.includes(one)),
  )

  expect(restricted).toEqual([])
})
