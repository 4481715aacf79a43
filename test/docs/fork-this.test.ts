// Checks that the files, members, settings and scripts that docs/fork-this.md names exist.
import { existsSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { readPage } from '../support/named-tests.ts'

const page = readPage('docs/fork-this.md')

/** The files that the reader is about to write. */
const OF_THE_EXAMPLE = ['src/operations/release-payment.ts', 'src/http/release-payment.ts']

test('the files that the reader creates do not exist yet', () => {
  for (const file of OF_THE_EXAMPLE) {
    expect(existsSync(new URL(`../../${file}`, import.meta.url))).toBe(false)
  }
})

test('says what each member of the port must promise', () => {
  const port = readPage('src/provider/payment-provider.ts')
  const [, calls = ''] = readPage('src/provider/calls.ts').split('export const providerCalls = {')
  const [, others = ''] = port.split('export interface PaymentProvider {')
  const members = [...others.matchAll(/^ {2}(\w+)\(/gm)].map(([, member = '']) => member)
  const [ofCalls = ''] = calls.split('\n}')
  const named = ofCalls.match(/^ {2}\w+: defineCall\(/gm) ?? []

  expect(members.length).toBeGreaterThan(5)
  for (const member of members) expect(page).toContain(`\`${member}\``)
  // The page refers to the comments of the calls.
  expect(named.length).toBeGreaterThan(4)
  expect(ofCalls.match(/ \*\/\n {2}\w+: defineCall\(/g)).toHaveLength(named.length)
})
