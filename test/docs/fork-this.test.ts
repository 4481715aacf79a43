// Checks that the files, members, settings and scripts that docs/fork-this.md names exist.
import { existsSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { configVariables } from '../../src/config.ts'
import { CONSTANTS } from '../../src/constants.ts'
import { readPage } from '../support/named-tests.ts'

const settings = [...configVariables, ...Object.keys(CONSTANTS)]

const page = readPage('docs/fork-this.md')

function found(pattern: RegExp): string[] {
  return [...new Set([...page.matchAll(pattern)].map(([, first = '']) => first))]
}

/** The files that the reader is about to write. */
const OF_THE_EXAMPLE = ['src/operations/release-payment.ts', 'src/http/release-payment.ts']

const files = found(/`((?:src|workers|test)\/[\w/.-]+)`/g).filter(
  (file) => !OF_THE_EXAMPLE.includes(file),
)

test.each(files)('the file %s that is named is there', (file) => {
  expect(existsSync(new URL(`../../${file}`, import.meta.url))).toBe(true)
})

test('the files that the reader creates do not exist yet', () => {
  for (const file of OF_THE_EXAMPLE) {
    expect(existsSync(new URL(`../../${file}`, import.meta.url))).toBe(false)
  }
})

test('says what each member of the port must promise', () => {
  const port = readPage('src/provider/payment-provider.ts')
  const [, calls = ''] = port.split('export interface ProviderCalls {')
  const [, others = ''] = port.split('export interface PaymentProvider {')
  const members = [...others.matchAll(/^ {2}(\w+)\(/gm)].map(([, member = '']) => member)
  const [ofCalls = ''] = calls.split('\n}')
  const named = ofCalls.match(/^ {2}readonly \w+: ProviderCall</gm) ?? []

  expect(members.length).toBeGreaterThan(5)
  for (const member of members) expect(page).toContain(`\`${member}\``)
  // The page refers to the comments of the calls.
  expect(named.length).toBeGreaterThan(4)
  expect(ofCalls.match(/ \*\/\n {2}readonly \w+: ProviderCall</g)).toHaveLength(named.length)
})

test('names settings and scripts that there are', () => {
  const { scripts } = JSON.parse(readPage('package.json')) as { scripts: Record<string, string> }

  for (const name of found(/`([A-Z]+(?:_[A-Z]+){2,})(?:=\w+)?`/g)) {
    expect(settings).toContain(name)
  }
  for (const name of found(/npm run ([\w:-]+)/g)) expect(Object.keys(scripts)).toContain(name)
})
